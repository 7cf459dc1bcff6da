// Finds the allocated chunks of glibc's malloc, by the sizes that malloc writes before each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

/// The heaps of a process, as its malloc has divided them. A process with another malloc has none. Not thread-safe.
class HeapChunks {
 public:
  /// True if a mapping whose first bytes are these is a heap.
  [[nodiscard]] static bool is_heap(const Region& region, std::span<const std::byte> bytes);

  /// Adds the chunks of a mapping, from blocks sorted by address; the first block must be the begin of the mapping.
  /// Memory between two blocks may be omitted only inside a chunk.
  void add_block(const Region& region, Address at, std::span<const std::byte> bytes);
  /// Call it after the last block.
  void finish();

  /// The chunk that contains `address`, from malloc's result to its end; none if malloc has marked it as free, or
  /// has not given it out yet.
  [[nodiscard]] std::optional<Range> containing(Address address) const;
  /// Bytes of the chunks that malloc has marked as free, or has not given out yet. Call it after finish().
  [[nodiscard]] std::uint64_t free_bytes() const;
  /// True if a chunk is in one of malloc's lists of small free chunks, which have no mark, by its content in `memory`.
  /// Since glibc 2.32, links in these lists are not plain addresses.
  [[nodiscard]] bool is_listed_as_free(Range piece, Mirror& memory) const;

 private:
  void begin(const Region& region, Address at, std::span<const std::byte> bytes);
  void end_chain(Address following);

  const Region* region_ = nullptr;
  bool are_mapped_ = false;      ///< each chunk of the mapping has its own pages
  Address next_ = 0;             ///< header of the next chunk; 0: none is expected
  std::vector<Address> begins_;  ///< headers of chunks, ascending, and ends of ranges, with flags
};

}  // namespace dcmt::scan
