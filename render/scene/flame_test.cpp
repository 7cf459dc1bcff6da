// Tests flame graphs as SVG.
#include "render/scene/flame.h"

#include <gtest/gtest.h>

namespace dcmt::scene {
namespace {

TEST(Flame, NarrowStacksShareABox) {
  Flame whole{"", 1'000'000, {{"train.py:3 <main>", 900'000, {}}}};
  for (int i = 0; i < 1000; ++i) whole.inner.push_back({"f" + std::to_string(i), 100, {}});
  const std::string svg = flame_svg(whole, 1000, 24, kLight);
  EXPECT_NE(svg.find("train.py:3 &lt;main&gt;"), std::string::npos);
  EXPECT_NE(svg.find("1000 others   97.7 KiB"), std::string::npos);
  EXPECT_EQ(svg.find("f999"), std::string::npos);
  EXPECT_NE(svg.find("0 0 1000 34"), std::string::npos) << "two rows";
}

TEST(Flame, IsNoDeeperThanAsked) {
  Flame whole{"", 100, {{"a", 100, {{"b", 100, {{"c", 100, {}}}}}}}};
  const std::string svg = flame_svg(whole, 600, 3, kLight);
  EXPECT_NE(svg.find("b   100 B"), std::string::npos);
  EXPECT_EQ(svg.find("c   100 B"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::scene
