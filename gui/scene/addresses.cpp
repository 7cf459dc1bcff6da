#include "gui/scene/addresses.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

#include "gui/scene/lanes.h"

namespace dcmt::gui::scene {
namespace {

Address end_of(const Recording& recording, std::span<const Address> addresses, LifetimeId id) {
  return address_end(addresses[id], recording.lifetimes()[id].bytes);
}

/// Stretches of time of one lane, apart from each other.
class Lane {
 public:
  [[nodiscard]] bool has_room(const Lifetime& of) const {
    const auto after = taken_.lower_bound({of.from, 0});
    if (after != taken_.end() && after->first < of.to) return false;
    return after == taken_.begin() || std::prev(after)->second <= of.from;
  }
  void add(const Lifetime& of) { taken_.emplace(of.from, of.to); }
  void clear() { taken_.clear(); }
  [[nodiscard]] bool empty() const { return taken_.empty(); }

 private:
  std::set<std::pair<Unit, Unit>> taken_;
};

}  // namespace

std::int64_t AddressStretch::bytes() const {
  constexpr auto kMost = static_cast<Address>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(to - from, kMost));
}

std::string address_text(Address address) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%" PRIx64, address);
  return text.data();
}

Address address_end(Address from, std::int64_t bytes) {
  const auto length = static_cast<Address>(std::max<std::int64_t>(1, bytes));
  return length > std::numeric_limits<Address>::max() - from ? std::numeric_limits<Address>::max() : from + length;
}

AddressLanes address_lanes(const Recording& recording, std::span<const Address> addresses) {
  AddressLanes found;
  const std::vector<Lifetime>& lifetimes = recording.lifetimes();
  found.stretch_of.assign(lifetimes.size(), kNoLane);
  found.lane_of.assign(lifetimes.size(), kNoLane);
  std::vector<LifetimeId> order;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (addresses[i] != 0) order.push_back(static_cast<LifetimeId>(i));
  }
  std::ranges::sort(order, [&](LifetimeId a, LifetimeId b) {
    return addresses[a] != addresses[b] ? addresses[a] < addresses[b] : a < b;
  });

  std::uint32_t lane = 0;  // of all
  Lane taken;
  for (std::size_t at = 0; at < order.size();) {
    const Address address = addresses[order[at]];
    const Address end_so_far = found.stretches.empty() ? 0 : found.stretches.back().to;
    const bool apart = address > end_so_far && address - end_so_far >= static_cast<Address>(kStretchGap);
    if (found.stretches.empty() || apart) {
      if (!found.stretches.empty()) ++lane;
      found.stretches.push_back({address, address});
      found.lanes_of_each.push_back(1);
      taken.clear();
    }
    std::size_t end = at;
    bool fits = true;
    for (; end < order.size() && addresses[order[end]] == address; ++end)
      fits = fits && taken.has_room(lifetimes[order[end]]);
    const auto next_lane = [&] {
      ++lane;
      ++found.lanes_of_each.back();
      taken.clear();
    };
    if (!fits) next_lane();
    for (; at < end; ++at) {
      const LifetimeId id = order[at];
      // Two at one address at one time: a death was lost.
      if (!taken.has_room(lifetimes[id])) next_lane();
      taken.add(lifetimes[id]);
      found.lane_of[id] = lane;
      found.stretch_of[id] = static_cast<std::uint32_t>(found.stretches.size() - 1);
      found.stretches.back().to = std::max(found.stretches.back().to, end_of(recording, addresses, id));
    }
  }
  return found;
}

std::vector<StretchAt> stretches_at(const Recording& recording, std::span<const Address> addresses,
                                    const AddressLanes& lanes, Unit unit) {
  std::vector<StretchAt> all;
  for (const AddressStretch& stretch : lanes.stretches) all.push_back({stretch, 0, 0, {}});
  const std::vector<Lifetime>& lifetimes = recording.lifetimes();
  for (std::size_t i = 0; i < lifetimes.size() && lifetimes[i].from <= unit; ++i) {
    if (lifetimes[i].to > unit && lanes.stretch_of[i] != kNoLane)
      all[lanes.stretch_of[i]].live.push_back(static_cast<LifetimeId>(i));
  }
  for (StretchAt& each : all) {
    std::ranges::sort(each.live, {}, [&](LifetimeId id) { return addresses[id]; });
    Address at = each.stretch.from;
    const auto gap_to = [&](Address to) {
      if (to > at) each.largest_gap = std::max(each.largest_gap, AddressStretch{at, to}.bytes());
    };
    for (const LifetimeId id : each.live) {
      gap_to(addresses[id]);
      const Address end = end_of(recording, addresses, id);
      if (end > at) each.used += AddressStretch{std::max(at, addresses[id]), end}.bytes();
      at = std::max(at, end);
    }
    gap_to(each.stretch.to);
  }
  return all;
}

}  // namespace dcmt::gui::scene
