// Lifetimes by where their bytes lay: stretches of addresses, and in them lanes in the order of addresses.
//
// A trace has the blocks of an allocator, not its segments. A stretch is what blocks ever lay in, one next to the other
// but for gaps of less than a segment; what lies between two blocks that live is a gap at that point.
#pragma once

#include <cstdint>
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
[[nodiscard]] std::vector<AddressStretch> address_stretches(const Recording& recording,
                                                            std::span<const Address> addresses);
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

/// One stretch at a point.
struct StretchAt {
  AddressStretch stretch;
  std::int64_t used = 0;         ///< bytes in blocks
  std::int64_t largest_gap = 0;  ///< bytes between two blocks, or a block and an end of the stretch
  std::vector<LifetimeId> live;  ///< ascending by address
};

/// All stretches, with what lives in that unit.
[[nodiscard]] std::vector<StretchAt> stretches_at(const Recording& recording, std::span<const Address> addresses,
                                                  std::span<const AddressStretch> stretches, Unit unit);

}  // namespace dcmt::gui::scene
