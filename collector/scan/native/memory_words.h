// Every word of the memory in which a process keeps its objects, one block after the other.
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
  /// `left_out`: stretches that hold no objects, such as the data of tensors, in any order.
  MemoryWords(MemorySource& source, std::vector<Range> left_out);

  /// Bytes that each() reads.
  [[nodiscard]] std::uint64_t bytes() const;

  /// Calls `block(region, address, bytes)` for each block that could be read and has a page that the process has
  /// written to. A block lies within one region. The other pages of it are zero here: they hold no address of an
  /// object, and to read them would make pages of files resident in the process.
  void each_block(const std::function<void(const Region&, Address, std::span<const std::byte>)>& block);

 private:
  std::size_t read_block(Address at, std::span<std::byte> bytes);

  MemorySource& source_;
  std::vector<std::pair<const Region*, Range>> stretches_;
};

}  // namespace dcmt::scan
