// The events of one storage on one axis: its bytes, its tensors, its holders, the references that were watched, and
// arrows from each holder or reference to what it held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/scene/canvas.h"
#include "render/scene/frame.h"

namespace dcmt::scene {

struct StoryChart {
  enum class What : std::uint8_t { kBytes, kTensor, kHolder, kReference };
  struct Bar {
    What what = What::kBytes;
    std::string name, note;
    double from = 0, to = 0;          ///< on the axis
    std::optional<double> dead_from;  ///< from there on it is kept for nothing
    bool fuzzy = false;               ///< it began at `from` or earlier
  };
  struct Point {
    enum class What : std::uint8_t { kGather, kRead, kRelease, kOther };
    What what = What::kOther;
    double at = 0;
    std::string text;
  };
  struct Arrow {
    std::size_t holder = 0, held = 0;  ///< indexes of bars
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
  std::vector<Box> bars;    ///< by bar
  std::vector<Box> arrows;  ///< by arrow, from its tail to its head
  std::vector<TextOf> texts;
  int height = 0;
};

[[nodiscard]] int story_chart_height(const StoryChart& story, int text_height);

/// @param at  a point on the axis to mark
StoryChartFacts draw_story_chart(const StoryChart& story, const Appearance& appearance, std::optional<double> at,
                                 Canvas& canvas);

}  // namespace dcmt::scene
