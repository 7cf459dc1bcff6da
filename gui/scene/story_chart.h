// What happened to one storage, on one axis: its bytes, its tensors, who held it, and arrows from each holder to what
// it held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gui/scene/canvas.h"
#include "gui/scene/frame.h"

namespace dcmt::gui::scene {

struct StoryChart {
  enum class What : std::uint8_t { kBytes, kTensor, kHolder };
  struct Bar {
    What what = What::kBytes;
    std::string name, note;
    double from = 0, to = 0;          ///< on the axis
    std::optional<double> dead_from;  ///< kept for nothing from there on
    bool fuzzy = false;               ///< it began no later than `from`
  };
  struct Point {
    enum class What : std::uint8_t { kGather, kRead, kRelease, kOther };
    What what = What::kOther;
    double at = 0;
    std::string text;
  };
  struct Arrow {
    std::size_t holder = 0, held = 0;  ///< bars
    double at = 0;
  };
  double length = 1;
  std::vector<Tick> ticks;
  std::vector<Bar> bars;
  std::vector<Point> points;  ///< ascending
  std::vector<Arrow> arrows;
};

struct StoryChartFacts {
  Box chart;
  std::vector<Box> bars;    ///< of each bar
  std::vector<Box> arrows;  ///< of each arrow, from its tail to its head
  std::vector<TextOf> texts;
  int height = 0;
};

[[nodiscard]] int story_chart_height(const StoryChart& story, int text_height);

/// @param at  a point on the axis
StoryChartFacts draw_story_chart(const StoryChart& story, const Look& look, std::optional<double> at, Canvas& canvas);

}  // namespace dcmt::gui::scene
