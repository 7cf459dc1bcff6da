// What holds the selected lifetimes, and what they hold, as arrows of the timeline.
#pragma once

#include <vector>

#include "analyzer/model/holds.h"
#include "gui/load/device_timeline.h"

namespace dcmt::gui::load {

/// Of those of which one side is of `selected`; both are drawn on the device.
[[nodiscard]] std::vector<scene::HoldArrow> hold_arrows(const DeviceTimeline& device,
                                                        const std::vector<model::Hold>& holds,
                                                        const std::vector<scene::LifetimeId>& selected);

}  // namespace dcmt::gui::load
