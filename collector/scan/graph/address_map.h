// Maps addresses to small numbers. It uses open addressing, because a census enters a million addresses.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// Address 0 is not allowed.
class AddressMap {
 public:
  AddressMap() : slots_(kFirstSize) {}

  /// The number of `address`; 0 if it has none.
  [[nodiscard]] std::uint32_t find(Address address) const { return slots_[slot_of(address)].number; }

  /// A reference to the number of `address`, for reading and writing; it is 0 for a new address. Valid until the next
  /// call.
  [[nodiscard]] std::uint32_t& operator[](Address address) {
    if (used_ * 2 >= slots_.size()) grow();
    Slot& slot = slots_[slot_of(address)];
    if (slot.address == 0) {
      slot.address = address;
      ++used_;
    }
    return slot.number;
  }

 private:
  struct Slot {
    Address address = 0;
    std::uint32_t number = 0;
  };
  static constexpr std::size_t kFirstSize = 1 << 16;  // a power of two, like all sizes

  [[nodiscard]] std::size_t slot_of(Address address) const {
    std::size_t slot = (address * 0x9E3779B97F4A7C15ULL) >> 20;
    for (slot &= slots_.size() - 1; slots_[slot].address != 0 && slots_[slot].address != address;) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.address != 0) slots_[slot_of(slot.address)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace dcmt::scan
