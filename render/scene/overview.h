// A curve with only a few known stretches, drawn while the rest is loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/scene/frame.h"

namespace dcmt::scene {

struct Overview {
  struct Stretch {
    std::int64_t from_ns = 0, to_ns = 0;  ///< without gaps
    std::int64_t highest = 0;             ///< in bytes
  };
  std::string device;
  std::int64_t peak = 0;
  std::vector<Stretch> stretches;
};

/// Draws where the curve will be. `text`: the current work.
void draw_overview(const Overview& overview, const Appearance& appearance, std::string_view text, Canvas& canvas);

}  // namespace dcmt::scene
