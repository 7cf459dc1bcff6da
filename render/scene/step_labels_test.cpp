#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "render/scene/band_curves.h"
#include "render/scene/curve.h"
#include "render/scene/frame.h"
#include "render/scene/lanes.h"
#include "render/scene/raster.h"

namespace dcmt::scene {
namespace {

/// The numbers in the row of steps, for steps of ten events each.
std::vector<int> labels(int steps, int width) {
  Recording recording;
  for (int i = 0; i < steps * 5; ++i) recording.end(20 * i + 10, recording.begin(20 * i, 100, 0, 0));
  recording.finish(20 * steps * 5);
  const Lanes lanes(recording, 1);
  const Curve curve(recording);
  const BandCurves band_curves(recording, 1);
  Document document;
  document.recording = &recording;
  document.lanes = &lanes;
  document.curve = &curve;
  document.band_curves = &band_curves;
  document.bands.push_back({"band", 0, false});
  document.label = [](LifetimeId, std::string& text) { text = "bar"; };
  for (int i = 0; i < steps; ++i)
    document.steps.push_back({std::to_string(i), static_cast<Unit>(10 * i), static_cast<Unit>(10 * i + 10)});
  Appearance appearance;
  appearance.width = width;
  appearance.height = 300;
  appearance.text_width = [](std::string_view text) { return static_cast<int>(text.size()) * 7; };
  Painter painter;
  Raster raster;
  raster.begin(appearance.width, appearance.height, appearance.theme->background);
  const Facts& facts = painter.draw(document, View(recording, Axis::kEvents), appearance, raster);
  std::vector<int> found;
  int free_from = 0;
  for (const Row& row : facts.rows) {
    if (row.what != Row::What::kSteps) continue;
    for (const TextOf& text : facts.texts()) {
      if (text.box.y != row.y || text.text == "steps") continue;
      EXPECT_GE(text.box.x, free_from) << text.text << " overlaps";
      EXPECT_LE(text.box.x + text.box.width, appearance.width);
      free_from = text.box.x + text.box.width;
      found.push_back(std::stoi(text.text));
    }
  }
  return found;
}

TEST(StepLabels, EachStepHasItsNumberWhereThereIsRoom) {
  EXPECT_EQ(labels(5, 1000), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(StepLabels, OfMoreStepsThanNumbersHaveRoomEveryFewHaveOne) {
  for (const int steps : {40, 300, 5000}) {
    const std::vector<int> found = labels(steps, 800);
    ASSERT_GT(found.size(), 4U) << steps;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], static_cast<int>(i) * found[1]) << "of " << steps << " steps";
    EXPECT_GE(found.back(), steps - 2 * found[1]) << "they go on to the end";
  }
}

}  // namespace
}  // namespace dcmt::scene
