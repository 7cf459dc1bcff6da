#include "render/scene/addresses.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "render/scene/lanes.h"

namespace dcmt::scene {
namespace {

Address end_of(const Recording& recording, std::span<const Address> addresses, LifetimeId id) {
  return address_end(addresses[id], recording.lifetimes()[id].bytes);
}

/// The lifetimes with a known address, ascending by address.
std::vector<LifetimeId> by_address(std::span<const Address> addresses) {
  std::vector<LifetimeId> order;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] != 0) order.push_back(static_cast<LifetimeId>(i));
  }
  std::ranges::sort(order, [&](LifetimeId a, LifetimeId b) {
    return addresses[a] != addresses[b] ? addresses[a] < addresses[b] : a < b;
  });
  return order;
}

/// The occupied times of one lane; they do not overlap.
class Lane {
 public:
  [[nodiscard]] bool has_room(const Lifetime& of) const {
    const auto after = occupied_.lower_bound({of.from, 0});
    if (after != occupied_.end() && after->first < of.to) return false;
    return after == occupied_.begin() || std::prev(after)->second <= of.from;
  }
  void add(const Lifetime& of) { occupied_.emplace(of.from, of.to); }
  void clear() { occupied_.clear(); }

 private:
  std::set<std::pair<Unit, Unit>> occupied_;
};

/// Computes the bytes and gaps of the live blocks.
void measure(const Recording& recording, std::span<const Address> addresses, Occupied& of) {
  Address at = of.addresses.from;
  const auto gap_to = [&](Address to) {
    if (to > at) of.largest_gap = std::max(of.largest_gap, AddressStretch{at, to}.bytes());
  };
  for (const LifetimeId id : of.live) {
    gap_to(addresses[id]);
    const Address end = std::min(end_of(recording, addresses, id), of.addresses.to);
    if (end > at) of.used += AddressStretch{std::max(at, addresses[id]), end}.bytes();
    at = std::max(at, end);
  }
  gap_to(of.addresses.to);
}

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

std::vector<AddressStretch> address_stretches(const Recording& recording, std::span<const Address> addresses,
                                              std::span<const AddressStretch> segments) {
  std::map<Address, Address> found;  // begin and end of each stretch
  const auto near = [](Address to, Address from) {
    return from <= to || from - to < static_cast<Address>(kStretchGap);
  };
  const auto add = [&](Address from, Address to) {
    auto at = found.upper_bound(from);
    if (at != found.begin() && near(std::prev(at)->second, from)) --at;
    for (; at != found.end() && near(to, at->first); at = found.erase(at)) {
      from = std::min(from, at->first);
      to = std::max(to, at->second);
    }
    found.emplace(from, to);
  };
  for (const AddressStretch& segment : segments) add(segment.from, segment.to);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] != 0) add(addresses[i], end_of(recording, addresses, static_cast<LifetimeId>(i)));
  }
  std::vector<AddressStretch> stretches;
  for (const auto& [from, to] : found) stretches.push_back({from, to});
  return stretches;
}

std::uint32_t stretch_of(std::span<const AddressStretch> stretches, Address address) {
  if (address == 0) return kNoStretch;
  const auto after = std::ranges::upper_bound(stretches, address, {}, &AddressStretch::from);
  return static_cast<std::uint32_t>(after - stretches.begin()) - 1;
}

AddressLanes address_lanes(const Recording& recording, std::span<const Address> addresses,
                           std::span<const AddressStretch> stretches) {
  AddressLanes found;
  const std::vector<Lifetime>& lifetimes = recording.lifetimes();
  found.lane_of.assign(lifetimes.size(), kNoLane);
  found.lanes_of_each.assign(stretches.size(), 1);
  const std::vector<LifetimeId> order = by_address(addresses);
  std::uint32_t lane = 0;  // number over all stretches
  std::uint32_t stretch = 0;
  Lane occupied;
  for (std::size_t at = 0; at < order.size();) {
    const Address address = addresses[order[at]];
    for (; stretch < stretch_of(stretches, address); ++stretch) {
      ++lane;
      occupied.clear();
    }
    std::size_t end = at;
    bool fits = true;
    for (; end < order.size() && addresses[order[end]] == address; ++end)
      fits = fits && occupied.has_room(lifetimes[order[end]]);
    const auto next_lane = [&] {
      ++lane;
      ++found.lanes_of_each[stretch];
      occupied.clear();
    };
    if (!fits) next_lane();
    for (; at < end; ++at) {
      const LifetimeId id = order[at];
      // Two lifetimes at one address at one time: the end of one was lost.
      if (!occupied.has_room(lifetimes[id])) next_lane();
      occupied.add(lifetimes[id]);
      found.lane_of[id] = lane;
    }
  }
  return found;
}

std::vector<StretchAt> stretches_at(const Recording& recording, std::span<const Address> addresses,
                                    std::span<const AddressStretch> stretches, Unit unit,
                                    const std::optional<std::vector<AddressStretch>>& segments) {
  std::vector<StretchAt> all(stretches.size());
  const std::vector<Lifetime>& lifetimes = recording.lifetimes();
  for (std::size_t i = 0; i < lifetimes.size() && lifetimes[i].from <= unit; ++i) {
    if (lifetimes[i].to > unit && addresses[i] != 0)
      all[stretch_of(stretches, addresses[i])].live.push_back(static_cast<LifetimeId>(i));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].addresses = stretches[i];
    std::ranges::sort(all[i].live, {}, [&](LifetimeId id) { return addresses[id]; });
    measure(recording, addresses, all[i]);
    if (segments) all[i].segments.emplace();
  }
  if (!segments) return all;
  for (const AddressStretch& each : *segments) {
    StretchAt& in = all[stretch_of(stretches, each.from)];
    Occupied& segment = in.segments->emplace_back();
    segment.addresses = each;
    for (const LifetimeId id : in.live) {
      if (addresses[id] >= each.to) break;
      if (end_of(recording, addresses, id) > each.from) segment.live.push_back(id);
    }
    measure(recording, addresses, segment);
  }
  return all;
}

std::vector<const Occupied*> occupied(std::span<const StretchAt> stretches) {
  std::vector<const Occupied*> all;
  for (const StretchAt& stretch : stretches) {
    if (!stretch.segments) {
      all.push_back(&stretch);
      continue;
    }
    for (const Occupied& segment : *stretch.segments) all.push_back(&segment);
  }
  return all;
}

}  // namespace dcmt::scene
