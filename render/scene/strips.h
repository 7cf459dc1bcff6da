// Curves of several recordings on one axis, in rows: the ranks of a run, or two runs and their difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/scene/canvas.h"
#include "render/scene/frame.h"

namespace dcmt::scene {

struct Strip {
  struct Stretch {
    double from = 0, to = 0;  ///< on the axis
    std::int64_t value = 0;   ///< in bytes: the maximum in the stretch
  };
  std::string name;         ///< "rank 3"
  std::string note;         ///< below the name
  bool apart = false;       ///< it is highlighted
  bool difference = false;  ///< values may be negative, and have a scale of their own
  std::vector<Stretch> stretches;
};

struct Strips {
  double length = 1;        ///< the axis goes from 0 to this
  std::vector<Tick> ticks;  ///< ascending
  std::vector<Strip> strips;
  std::int64_t most = 1;  ///< bytes at the top of all strips that are not differences
};

struct StripFacts {
  Box chart;
  std::vector<Box> rows;                           ///< by strip
  std::vector<std::vector<std::int64_t>> columns;  ///< by strip and column: the value farthest from 0
  std::vector<TextOf> texts;
  int height = 0;  ///< of the whole picture
};

/// The height of a picture of `count` strips.
[[nodiscard]] int strips_height(std::size_t count, int text_height);

/// @param at  a point on the axis, marked in all strips
/// @param current  the strip that is open
StripFacts draw_strips(const Strips& strips, const Appearance& appearance, std::optional<double> at,
                       std::optional<std::size_t> current, Canvas& canvas);

/// At most `most` round numbers of a time axis. `length`: nanoseconds.
[[nodiscard]] std::vector<Tick> time_ticks(double length, int most);

}  // namespace dcmt::scene
