// Reads all memory in which a process keeps its objects, block by block.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "collector/scan/memory/memory_source.h"
#include "collector/scan/memory/mirror.h"

namespace dcmt::scan {

/// Not thread-safe.
class MemoryWords {
 public:
  /// `left_out`: ranges without objects, such as the data of tensors, in any order. One may cover several
  /// regions.
  /// @param with_stack  also the stack of the first thread; those of other threads are always read
  MemoryWords(MemorySource& source, std::vector<Range> left_out, bool with_stack = false);

  /// The number of bytes that each_block() reads.
  [[nodiscard]] std::uint64_t bytes() const;

  /// Calls `block(region, address, bytes)` for each readable block with at least one page that the process has written
  /// to. A block is inside one region. Its other pages are zero here: they contain no address of an object, and reading
  /// them would make pages of files resident in the process.
  using Visit = std::function<void(const Region&, Address, std::span<const std::byte>)>;
  void each_block(const Visit& block);
  /// Calls it only for blocks with which a region begins.
  void each_first_block(const Visit& block);

 private:
  std::size_t read_block(Address at, std::span<std::byte> bytes);
  void visit(const Region& region, Range block, const Visit& visitor);

  MemorySource& source_;
  std::vector<std::pair<const Region*, Range>> stretches_;
  std::vector<std::byte> bytes_;  ///< of one block
};

}  // namespace dcmt::scan
