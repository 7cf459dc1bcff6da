// Holders of the selected lifetimes, and what these hold, as arrows of the timeline.
#pragma once

#include <vector>

#include "analyzer/model/holds.h"
#include "render/load/device_timeline.h"

namespace dcmt::load {

/// Arrows with one end in `selected`. Both ends are drawn on the device.
[[nodiscard]] std::vector<scene::HoldArrow> hold_arrows(const DeviceTimeline& device,
                                                        const std::vector<model::Hold>& holds,
                                                        const std::vector<scene::LifetimeId>& selected);

}  // namespace dcmt::load
