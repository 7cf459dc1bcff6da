#include "render/scene/label.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "render/scene/testing.h"

namespace dcmt::scene {
namespace {

/// Characters of 3 to 9 pixels; "…" has 8. Counts the bytes that are measured.
Appearance appearance_of(std::size_t& measured) {
  Appearance appearance;
  appearance.text_width = [&measured](std::string_view text) {
    measured += text.size();
    int width = 0;
    for (const char letter : text) {
      if ((static_cast<unsigned char>(letter) & 0xc0U) != 0x80U) width += 3 + static_cast<unsigned char>(letter) % 7;
    }
    return width;
  };
  return appearance;
}

TEST(FitText, IsTheLongestBeginningThatFits) {
  std::mt19937 random(1);
  std::size_t measured = 0;
  const Appearance appearance = appearance_of(measured);
  const std::string_view letters[] = {"a", "é", "漢", "m", "…", "𝄞"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    std::vector<std::size_t> ends;
    for (int count = testing::random_below(random, 60); count > 0; --count) {
      text += letters[testing::random_below(random, 6)];
      ends.push_back(text.size());
    }
    const int room = testing::random_below(random, 300);
    std::string wanted = appearance.text_width(text) <= room ? text : "";
    for (std::size_t i = 0; wanted.empty() && i < ends.size(); ++i) {
      const std::size_t end = ends[ends.size() - 1 - i];
      const std::string cut = text.substr(0, end) + "…";
      if (end < 3) break;
      if (end < text.size() && appearance.text_width(cut) <= room) wanted = cut;
    }
    std::string scratch;
    const FittedText fitted = fit_text(appearance, text, room, true, scratch);
    ASSERT_EQ(fitted.text, wanted) << text << " in " << room;
    ASSERT_EQ(fitted.width, wanted.empty() ? 0 : appearance.text_width(wanted));
    const bool whole = wanted == text;
    ASSERT_EQ(fit_text(appearance, text, room, false, scratch).text, whole ? text : "");
  }
}

TEST(FitText, ALongNameCostsNoMoreThanItsRoom) {
  std::size_t measured = 0;
  const Appearance appearance = appearance_of(measured);
  const std::string name(10'000'000, 'x');
  std::string scratch;
  EXPECT_FALSE(fit_text(appearance, name, 400, true, scratch).text.empty());
  EXPECT_TRUE(fit_text(appearance, name, 400, false, scratch).text.empty());
  EXPECT_LT(measured, 4000U);
}

}  // namespace
}  // namespace dcmt::scene
