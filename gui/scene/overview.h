// A curve of which a few stretches are known: what is drawn while the rest is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/scene/frame.h"

namespace dcmt::gui::scene {

struct Overview {
  struct Stretch {
    std::int64_t from_ns = 0, to_ns = 0;  ///< one after the other
    std::int64_t highest = 0;             ///< bytes
  };
  std::string device;
  std::int64_t peak = 0;
  std::vector<Stretch> stretches;
};

/// Where the curve will be. `text`: what is being done.
void draw_overview(const Overview& overview, const Look& look, std::string_view text, Canvas& canvas);

}  // namespace dcmt::gui::scene
