// Bytes by the stacks that allocated them: a flame graph that grows downwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/scene/colors.h"
#include "render/scene/svg.h"

namespace dcmt::scene {

struct Flame {
  std::string name;
  std::int64_t bytes = 0;
  std::vector<Flame> inner;  ///< most bytes first
};

/// @param width  of the picture; frames that are too narrow are merged with their narrow neighbours
/// @param deepest  the maximum of rows
[[nodiscard]] std::string flame_svg(const Flame& flame, int width, int deepest, const Theme& theme);

}  // namespace dcmt::scene
