// Lifetimes by their addresses: stretches of addresses, with lanes in the order of addresses.
//
// A stretch is a range of addresses in which blocks, or segments of an allocator, ever lay, with gaps smaller than a
// segment. Most traces have no segments: then the space between two live blocks is a gap at that point. If segments are
// known, gaps lie within segments, and everything else is not reserved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "render/scene/recording.h"

namespace dcmt::scene {

using Address = std::uint64_t;

/// Addresses [from, to).
struct AddressStretch {
  Address from = 0, to = 0;
  [[nodiscard]] std::int64_t bytes() const;
};

/// "0x7f12a0000000".
[[nodiscard]] std::string address_text(Address address);
/// The end of a block that begins at `from`. In a damaged trace, at most the last address.
[[nodiscard]] Address address_end(Address from, std::int64_t bytes);

/// Gaps inside a stretch are smaller than this: CUDA's allocator requests segments of at least that size.
inline constexpr std::int64_t kStretchGap = 2 << 20;

/// The stretches: ascending, disjoint. @param addresses  by lifetime; 0: unknown
/// @param segments  all that ever existed
[[nodiscard]] std::vector<AddressStretch> address_stretches(const Recording& recording,
                                                            std::span<const Address> addresses,
                                                            std::span<const AddressStretch> segments = {});
inline constexpr std::uint32_t kNoStretch = 0xffffffff;
/// The index of the stretch with that address; kNoStretch if the address is unknown.
[[nodiscard]] std::uint32_t stretch_of(std::span<const AddressStretch> stretches, Address address);

/// The lane of each lifetime.
struct AddressLanes {
  std::vector<std::uint32_t> lane_of;        ///< by lifetime; lanes of a stretch are consecutive
  std::vector<std::uint32_t> lanes_of_each;  ///< the number of lanes of each stretch
};

/// A lifetime at a higher address is never in a lane above one at a lower address that overlaps it in time. Lifetimes
/// at one address share a lane.
[[nodiscard]] AddressLanes address_lanes(const Recording& recording, std::span<const Address> addresses,
                                         std::span<const AddressStretch> stretches);

/// The use of an address range at a point.
struct Occupied {
  AddressStretch addresses;
  std::int64_t used = 0;         ///< bytes in blocks
  std::int64_t largest_gap = 0;  ///< bytes between two blocks, or a block and an end of the addresses
  std::vector<LifetimeId> live;  ///< ascending by address
};

/// A stretch at a point.
struct StretchAt : Occupied {
  std::optional<std::vector<Occupied>> segments;  ///< the segments reserved in it; nullopt: unknown
};

/// All stretches with the lifetimes of that unit. @param segments  reserved then, ascending; nullopt: unknown
[[nodiscard]] std::vector<StretchAt> stretches_at(const Recording& recording, std::span<const Address> addresses,
                                                  std::span<const AddressStretch> stretches, Unit unit,
                                                  const std::optional<std::vector<AddressStretch>>& segments = {});

/// The segments of stretches if they are known, else the stretches themselves.
[[nodiscard]] std::vector<const Occupied*> occupied(std::span<const StretchAt> stretches);

}  // namespace dcmt::scene
