#include "render/load/hold_arrows.h"

#include <set>

namespace dcmt::load {

std::vector<scene::HoldArrow> hold_arrows(const DeviceTimeline& device, const std::vector<model::Hold>& holds,
                                          const std::vector<scene::LifetimeId>& selected) {
  if (holds.empty()) return {};  // avoids the work below: a finding may have a million lifetimes
  std::set<StorageId> storages;
  for (const scene::LifetimeId each : selected) storages.insert(device.block_of(each).storage);
  std::vector<scene::HoldArrow> arrows;
  for (const model::Hold& each : holds) {
    if (!storages.contains(each.holder) && !storages.contains(each.held)) continue;
    const auto holder = device.lifetime_of(each.holder);
    const auto held = device.lifetime_of(each.held);
    if (holder && held) arrows.push_back({*holder, *held, device.unit_of(each.found)});
  }
  return arrows;
}

}  // namespace dcmt::load
