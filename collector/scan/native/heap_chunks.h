// Where the pieces lie that glibc's malloc has handed out, by the sizes that it writes before each.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

/// The heaps of a process, as its malloc has cut them. A process with another malloc has none. Not thread-safe.
class HeapChunks {
 public:
  /// Adds the pieces of a mapping, from blocks of it that come in the order of their addresses, the beginning of the
  /// mapping first. Between blocks only what lies within one piece may be left out.
  void add_block(const Region& region, Address at, std::span<const std::byte> bytes);
  /// After the last block.
  void finish();

  /// The piece in which `address` lies, from what malloc returned to its end; none that malloc marks as free.
  [[nodiscard]] std::optional<Range> containing(Address address) const;
  /// Whether a piece is in one of malloc's lists of small free ones, which have no mark, by what `memory` has in it.
  /// From glibc 2.32 on, where a link in these lists is no plain address.
  [[nodiscard]] bool is_listed_as_free(Range piece, Mirror& memory) const;

 private:
  void begin(const Region& region, Address at, std::span<const std::byte> bytes);

  const Region* region_ = nullptr;
  bool are_mapped_ = false;      ///< each piece of the mapping has pages of its own
  Address next_ = 0;             ///< header of the next piece; 0: none is expected
  std::vector<Address> begins_;  ///< headers of pieces in rising order and ends of stretches, with flags
};

}  // namespace dcmt::scan
