// Lifetimes by where their bytes lay: stretches of addresses, and in them lanes in the order of addresses.
//
// A stretch is what blocks, or segments of an allocator, ever lay in, one next to the other but for gaps of less than a
// segment. Most traces have no segments: then what lies between two blocks that live is a gap at that point. Where they
// are known, a gap lies in a segment, and what is in none is not reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gui/scene/recording.h"

namespace dcmt::gui::scene {

using Address = std::uint64_t;

/// Addresses [from, to).
struct AddressStretch {
  Address from = 0, to = 0;
  [[nodiscard]] std::int64_t bytes() const;
};

/// "0x7f12a0000000".
[[nodiscard]] std::string address_text(Address address);
/// Where bytes from there on end: of a damaged trace at the last address, at most.
[[nodiscard]] Address address_end(Address from, std::int64_t bytes);

/// Gaps that a stretch has inside of it are smaller: CUDA's allocator asks for segments of at least that size.
inline constexpr std::int64_t kStretchGap = 2 << 20;

/// Ascending, apart. @param addresses  by lifetime; 0: not known
/// @param segments  all that there ever were
[[nodiscard]] std::vector<AddressStretch> address_stretches(const Recording& recording,
                                                            std::span<const Address> addresses,
                                                            std::span<const AddressStretch> segments = {});
inline constexpr std::uint32_t kNoStretch = 0xffffffff;
/// Of all of them, the one that has that address; kNoStretch where it is not known.
[[nodiscard]] std::uint32_t stretch_of(std::span<const AddressStretch> stretches, Address address);

/// Where each lifetime is drawn.
struct AddressLanes {
  std::vector<std::uint32_t> lane_of;        ///< by lifetime; lanes of a stretch are one after the other
  std::vector<std::uint32_t> lanes_of_each;  ///< how many lanes each stretch has
};

/// What lies at a higher address is in no lane above one at a lower address of which it is not apart in time, and
/// lifetimes at one address share a lane.
[[nodiscard]] AddressLanes address_lanes(const Recording& recording, std::span<const Address> addresses,
                                         std::span<const AddressStretch> stretches);

/// Some addresses at a point.
struct Occupied {
  AddressStretch addresses;
  std::int64_t used = 0;         ///< bytes in blocks
  std::int64_t largest_gap = 0;  ///< bytes between two blocks, or a block and an end of the addresses
  std::vector<LifetimeId> live;  ///< ascending by address
};

/// One stretch at a point.
struct StretchAt : Occupied {
  std::optional<std::vector<Occupied>> segments;  ///< that are reserved in it; nullopt: not known
};

/// All stretches, with what lives in that unit. @param segments  that are reserved then, ascending; nullopt: not known
[[nodiscard]] std::vector<StretchAt> stretches_at(const Recording& recording, std::span<const Address> addresses,
                                                  std::span<const AddressStretch> stretches, Unit unit,
                                                  const std::optional<std::vector<AddressStretch>>& segments = {});

/// Their segments where these are known, else the stretches themselves.
[[nodiscard]] std::vector<const Occupied*> occupied(std::span<const StretchAt> stretches);

}  // namespace dcmt::gui::scene
