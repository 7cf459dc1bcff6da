// Bytes by the stacks that allocated them, one below the other: a flame graph that hangs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/scene/colors.h"
#include "gui/scene/svg.h"

namespace dcmt::gui::scene {

struct Flame {
  std::string name;
  std::int64_t bytes = 0;
  std::vector<Flame> inner;  ///< most bytes first
};

/// @param width  of the picture; what is too narrow to be seen shares a box with its narrow neighbours
/// @param deepest  rows, at most
[[nodiscard]] std::string flame_svg(const Flame& flame, int width, int deepest, const Theme& theme);

}  // namespace dcmt::gui::scene
