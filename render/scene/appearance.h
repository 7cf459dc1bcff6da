// How a picture is drawn, and what is highlighted in it.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "render/scene/colors.h"
#include "render/scene/recording.h"

namespace dcmt::scene {

/// A holding relation between two lifetimes, drawn as an arrow between their bars at a unit of both.
struct HoldArrow {
  LifetimeId holder = kNoLifetime, held = kNoLifetime;
  Unit at = 0;
};

struct Appearance {
  int width = 0, height = 0;  ///< of the picture
  int text_height = 16;
  int scroll = 0;  ///< offset of the bands
  const Theme* theme = &kLight;
  std::function<int(std::string_view)> text_width;
  std::optional<LifetimeId> selected;
  std::optional<LifetimeId> hovered;
  std::optional<Unit> point;
  std::optional<std::pair<Unit, Unit>> range;
  std::vector<HoldArrow> holds;  ///< relations of the selection
};

}  // namespace dcmt::scene
