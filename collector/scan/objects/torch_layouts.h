// Layouts of torch's that several decoders read: ska::flat_hash_map and c10::IValue.
#pragma once

#include <cstdint>

#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

/// The slots of a map. A slot begins with a number that is negative if the slot is empty. Slots after the last one are
/// for long probes.
struct FlatHashMap {
  Address slots = 0;
  std::uint64_t last = 0;   ///< number of slots, less 1
  std::int8_t probes = 0;   ///< most slots that a search tries
  std::uint64_t bytes = 0;  ///< of a slot

  /// Calls visit(slot, number of the slot) for each slot that has an entry. False, without a call, if these are no
  /// slots of a map, or more than `most`.
  template <class Visit>
  bool each(Mirror& memory, std::uint64_t most, Visit visit) const {
    if (slots == 0 || bytes == 0 || last > most || probes < 0) return false;
    for (std::uint64_t i = 0; i < last + static_cast<std::uint64_t>(probes); ++i) {
      const Address slot = slots + i * bytes;
      if (memory.value<std::int8_t>(slot) >= 0) visit(slot, i);
    }
    return true;
  }
};

/// The tensor of a c10::IValue, which is a union of 8 bytes, and what it is; 0: it is something else.
[[nodiscard]] inline Address tensor_of_value(Mirror& memory, Address value) {
  constexpr Address kTag = 8;
  constexpr std::uint32_t kTensor = 1;
  return memory.value<std::uint32_t>(value + kTag) == kTensor ? memory.word(value) : 0;
}

}  // namespace dcmt::scan
