// Common parts of the viewer's benchmarks: 200 steps through a timeline, clocks, percentiles, counted allocations.
#pragma once

#include <time.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "render/scene/frame.h"

namespace dcmt::gui::bench {

/// The number of allocations of this program so far.
std::uint64_t allocations();
double seconds(clockid_t clock);
double percentile(std::vector<double> values, double share);

/// 1920x1080, or the size given by the two words.
scene::Appearance appearance_of(const char* width, const char* height);

struct Frames {
  std::vector<double> cpu_ms, wall_ms;  ///< of each step
  std::uint64_t allocations = 0;        ///< of all steps together
  std::uint64_t runs = 0;               ///< the most runs that a frame read for its lanes
};

/// Draws 20 steps that are not counted, then 200 of zoom, pan, jump and scroll, on both axes.
/// @param after  is called after each counted step, with what was drawn
Frames draw_frames(const scene::Document& document, scene::Appearance& appearance, scene::Painter& painter,
                   const std::function<void(const scene::Painter&, const scene::View&)>& after = {});

}  // namespace dcmt::gui::bench
