// Finds the number of a node by its address. It uses open addressing, because a census enters a million addresses. A
// slot has a part of the hash instead of the address: the node has that, and half as many bytes mean fewer waits for
// memory.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// Numbers begin at 1. Not thread-safe.
class NodeNumbers {
 public:
  /// @param bits  logarithm of the number of slots to begin with
  explicit NodeNumbers(unsigned bits = 16) : slots_(std::size_t{1} << bits), shift_(32 - bits) {}

  /// The number of the node with this address; 0 if there is none. @param is_it  whether a number is that of the node
  [[nodiscard]] std::uint32_t find(Address address, const auto& is_it) const {
    return slots_[slot_of(hash_of(address), is_it)].number;
  }

  /// The same, but a new address gets the number `next`.
  [[nodiscard]] std::uint32_t find_or_add(Address address, std::uint32_t next, const auto& is_it) {
    if (used_ * 2 >= slots_.size()) grow();
    const std::uint32_t hash = hash_of(address);
    Slot& slot = slots_[slot_of(hash, is_it)];
    if (slot.number == 0) {
      slot = {hash, next};
      ++used_;
    }
    return slot.number;
  }

  /// Begins to load the slot of `address` into the processor's cache.
  void prefetch(Address address) const { __builtin_prefetch(&slots_[hash_of(address) >> shift_]); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number = 0;  ///< 0: empty
  };

  /// The high half of a product with 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4).
  static std::uint32_t hash_of(Address address) {
    return static_cast<std::uint32_t>((address * 0x9E3779B97F4A7C15ULL) >> 32);
  }

  [[nodiscard]] std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  [[nodiscard]] std::size_t slot_of(std::uint32_t hash, const auto& is_it) const {
    std::size_t at = hash >> shift_;
    while (slots_[at].number != 0 && (slots_[at].hash != hash || !is_it(slots_[at].number))) at = next(at);
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    --shift_;
    for (const Slot& slot : old) {
      if (slot.number == 0) continue;
      std::size_t at = slot.hash >> shift_;
      while (slots_[at].number != 0) at = next(at);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  unsigned shift_;  ///< the first bits of a hash, which are left, are the number of its slot
  std::size_t used_ = 0;
};

}  // namespace dcmt::scan
