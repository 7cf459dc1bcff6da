// Where a census reads the memory of a process from: the process while it runs, or a core file of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dcmt::scan {

/// An address in the inspected process. Never dereferenced here.
using Address = std::uint64_t;

/// A stretch of addresses, the end excluded.
struct Range {
  Address begin = 0;
  Address end = 0;
};

constexpr Address kPageBytes = 4096;

/// One mapping of the inspected process, as /proc/PID/maps lists it.
struct Region {
  Address begin = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;  ///< writable and private: where objects live
  bool executable = false;
  std::string path;  ///< file, "[heap]", "[stack]" or empty
};

/// What a read copies: `into.size()` bytes of the process from `from`.
struct Piece {
  Address from = 0;
  std::span<std::byte> into;
};

/// Not thread-safe. A source never stops or changes the process.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// Mappings in the order of their addresses, as of the construction of the source.
  [[nodiscard]] virtual const std::vector<Region>& regions() const = 0;

  /// Reads the pieces in their order; stops at the first byte that cannot be read. Returns the bytes read.
  virtual std::size_t read(std::span<const Piece> pieces) = 0;

  /// Whether the process has written to each page of `range`, which begins and ends with a page. Any other page has
  /// what a file has, or zeros. True where the source cannot say.
  [[nodiscard]] virtual std::vector<bool> written_pages(Range range) {
    return std::vector<bool>((range.end - range.begin) / kPageBytes, true);
  }

  /// The path by which this process can open a file that the inspected process has mapped as `path`.
  [[nodiscard]] virtual std::string host_path(const std::string& path) const = 0;
};

}  // namespace dcmt::scan
