#include "render/scene/strips.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "render/scene/raster.h"
#include "render/scene/testing.h"

namespace dcmt::scene {
namespace {

using testing::random_below;

/// A font with characters of one width.
Appearance appearance_of(int width) {
  Appearance appearance;
  appearance.width = width;
  appearance.height = 400;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  return appearance;
}

Strips random_strips(std::mt19937& random) {
  Strips strips;
  strips.length = 1 + random_below(random, 100000);
  strips.ticks = time_ticks(strips.length, 8);
  for (int i = random_below(random, 6); i >= 0; --i) {
    Strip& strip = strips.strips.emplace_back();
    strip.name = "rank " + std::to_string(i);
    strip.note = "peak 12.1 MiB · differs in peak";
    strip.difference = random_below(random, 3) == 0;
    strip.apart = random_below(random, 3) == 0;
    double at = 0;
    while (at < strips.length) {
      const double to = std::min(strips.length, at + random_below(random, 5000));
      const std::int64_t value = random_below(random, 1 << 20) - (strip.difference ? 1 << 19 : 0);
      strip.stretches.push_back({at, to, value});
      strips.most = std::max(strips.most, value);
      at = to + (random_below(random, 4) == 0 ? random_below(random, 2000) : 1);
    }
  }
  return strips;
}

TEST(Strips, ColumnsAreTheFarthestFromZeroOfWhatTouchesThem) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Strips strips = random_strips(random);
    Raster raster;
    const Appearance appearance = appearance_of(300 + random_below(random, 900));
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    const StripFacts facts = draw_strips(strips, appearance, strips.length / 2, std::size_t{0}, raster);
    ASSERT_EQ(facts.columns.size(), strips.strips.size());
    for (std::size_t i = 0; i < strips.strips.size(); ++i) {
      for (int column = 0; column < facts.chart.width; ++column) {
        const double each = strips.length / facts.chart.width;
        std::int64_t farthest = 0;
        std::int64_t inside = 0;
        for (const Strip::Stretch& stretch : strips.strips[i].stretches) {
          // Rounding may add a stretch that ends exactly where the column begins.
          const bool touches = stretch.from <= (column + 1) * each + 1e-6 && stretch.to >= column * each - 1e-6;
          const bool well_inside = stretch.from < (column + 1) * each - 1e-6 && stretch.to > column * each + 1e-6;
          if (touches) farthest = std::max(farthest, std::abs(stretch.value));
          if (well_inside) inside = std::max(inside, std::abs(stretch.value));
        }
        const std::int64_t drawn = std::abs(facts.columns[i][static_cast<std::size_t>(column)]);
        EXPECT_GE(drawn, inside) << "seed " << seed;
        EXPECT_LE(drawn, farthest) << "seed " << seed;
      }
    }
    for (std::size_t i = 0; i < facts.texts.size(); ++i) {
      EXPECT_LE(facts.texts[i].box.x + facts.texts[i].box.width, appearance.width) << facts.texts[i].text;
      for (std::size_t j = i + 1; j < facts.texts.size(); ++j)
        EXPECT_FALSE(facts.texts[i].box.meets(facts.texts[j].box)) << facts.texts[i].text << facts.texts[j].text;
    }
  }
}

TEST(Strips, NothingIsDrawnOfNothing) {
  Raster raster;
  const Appearance appearance = appearance_of(400);
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  const StripFacts facts = draw_strips({}, appearance, 0.5, std::nullopt, raster);
  EXPECT_TRUE(facts.rows.empty());
  EXPECT_TRUE(facts.texts.empty());
}

TEST(Strips, TicksAreFewAndRound) {
  for (const double length : {1.0, 7.0, 1e3, 31415.0, 9.9e8, 4e12, 9e18}) {
    const std::vector<Tick> ticks = time_ticks(length, 8);
    EXPECT_GE(ticks.size(), 3U) << length;
    EXPECT_LE(ticks.size(), 9U) << length;
    EXPECT_LT(ticks.back().x, length);
    const double step = ticks[1].x;
    const double digit = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    EXPECT_TRUE(std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 || std::abs(digit - 5) < 1e-6) << step;
  }
  EXPECT_TRUE(time_ticks(0, 8).empty());
}

}  // namespace
}  // namespace dcmt::scene
