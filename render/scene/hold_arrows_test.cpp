#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "render/scene/frame.h"
#include "render/scene/raster.h"
#include "render/scene/testing.h"

namespace dcmt::scene {
namespace {

using testing::random_below;
using testing::random_recording;

/// A recording with all that a picture of it needs.
struct Scene {
  explicit Scene(Recording of, std::uint16_t bands)
      : recording(std::move(of)), lanes(recording, bands), curve(recording), band_curves(recording, bands) {
    document.recording = &recording;
    document.lanes = &lanes;
    document.curve = &curve;
    document.band_curves = &band_curves;
    for (std::uint16_t band = 0; band < bands; ++band) document.bands.push_back({"band", 0, true});
    appearance.width = 900;
    appearance.height = 700;
    appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  }

  const Facts& draw(const View& view) {
    raster.begin(appearance.width, appearance.height, appearance.theme->background);
    return painter.draw(document, view, appearance, raster);
  }

  Recording recording;
  Lanes lanes;
  Curve curve;
  BandCurves band_curves;
  Document document;
  Appearance appearance;
  Raster raster;
  Painter painter;
};

Recording two_at_once() {
  Recording recording;
  const LifetimeId holder = recording.begin(0, 100, 0, 0);
  const LifetimeId held = recording.begin(100, 100, 1, 0);
  recording.end(800, held);
  recording.end(900, holder);
  recording.finish(1000);
  return recording;
}

TEST(HoldArrows, LeadFromTheHolderToWhatItHolds) {
  Scene scene(two_at_once(), 1);
  scene.appearance.holds = {{0, 1, 1}};
  const Facts& facts = scene.draw(View(scene.recording, Axis::kTime));
  ASSERT_EQ(facts.arrows.size(), 1U);
  ASSERT_EQ(facts.bars.size(), 2U);
  const Box& holder = facts.bars[0].box;
  const Box& held = facts.bars[1].box;
  const Box& line = facts.arrows[0].line;
  EXPECT_GE(line.x, held.x);
  EXPECT_LT(line.x, held.x + held.width);
  EXPECT_LE(line.y, holder.y + holder.height);
  EXPECT_GE(line.y + line.height, held.y);
  const auto pixel = [&](int x, int y) {
    return scene.raster.pixels()[static_cast<std::size_t>(y * scene.appearance.width + x)] & 0xffffffU;
  };
  EXPECT_EQ(pixel(line.x + 3, line.y + line.height - 4), scene.appearance.theme->selected)
      << "its head is at what is held";
}

TEST(HoldArrows, AreNotWhereTheTwoAreNotAtOnce) {
  Recording recording;
  const LifetimeId first = recording.begin(0, 100, 0, 0);
  recording.end(100, first);
  const LifetimeId other = recording.begin(200, 100, 0, 1);
  recording.end(300, other);
  recording.finish(400);
  Scene scene(std::move(recording), 2);
  scene.appearance.holds = {{first, other, 0}};
  EXPECT_TRUE(scene.draw(View(scene.recording, Axis::kTime)).arrows.empty());
}

TEST(HoldArrows, StayInBothBarsAtAnyZoom) {
  std::size_t drawn = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Scene scene(random_recording(random, 20 + random_below(random, 300), 3), 3);
    const auto count = static_cast<int>(scene.recording.lifetimes().size());
    for (int i = 0; i < 60; ++i) {
      scene.appearance.holds.push_back(
          {static_cast<LifetimeId>(random_below(random, count)), static_cast<LifetimeId>(random_below(random, count)),
           static_cast<Unit>(random_below(random, static_cast<int>(scene.recording.units())))});
    }
    scene.appearance.scroll = random_below(random, 200);
    if (seed % 2 == 0) scene.appearance.selected = scene.appearance.holds.front().holder;
    View view(scene.recording, Axis::kEvents);
    view.zoom(1 + random_below(random, 20), 0.01 * random_below(random, 100));
    const Facts& facts = scene.draw(view);
    for (const ArrowOf& each : facts.arrows) {
      ++drawn;
      const bool one = scene.appearance.selected == each.holder || scene.appearance.selected == each.held;
      for (const LifetimeId side : {each.holder, each.held}) {
        const std::uint32_t lane = scene.lanes.lane_of(side);
        const bool seen = std::ranges::any_of(
            facts.rows, [&](const Row& row) { return row.what == Row::What::kLane && row.index == lane; });
        EXPECT_TRUE(one || seen) << "a line to the edge for what is not selected, seed " << seed;
      }
      EXPECT_GE(each.line.y, scene.painter.bands_top());
      EXPECT_LE(each.line.y + each.line.height, scene.appearance.height);
      const Column& column = facts.columns[static_cast<std::size_t>(each.line.x - facts.chart.x)];
      for (const LifetimeId side : {each.holder, each.held}) {
        const Lifetime& of = scene.recording.lifetimes()[side];
        EXPECT_LT(of.from, column.to) << "seed " << seed;
        EXPECT_GT(of.to, column.from) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(drawn, 300U);
}

}  // namespace
}  // namespace dcmt::scene
