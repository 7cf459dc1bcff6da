// The source of a process's memory for a census: the running process, or its core file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dcmt::scan {

/// An address in the inspected process. It is never dereferenced in this process.
using Address = std::uint64_t;

/// A range of addresses, without its end.
struct Range {
  Address begin = 0;
  Address end = 0;
};

/// Memory is read in units of this size, the smallest one of a kernel's page.
constexpr Address kPageBytes = 4096;

/// A mapping of the inspected process, as in /proc/PID/maps.
struct Region {
  Address begin = 0;
  Address end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;  ///< writable and private: objects are in such regions
  bool executable = false;
  std::string path;  ///< file, "[heap]", "[stack]" or empty
};

/// A part of a read: copies `into.size()` bytes of the process from `from`.
struct Piece {
  Address from = 0;
  std::span<std::byte> into;
};

/// Not thread-safe. A source never stops or changes the process.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// Mappings sorted by address, as of the construction of the source.
  [[nodiscard]] virtual const std::vector<Region>& regions() const = 0;

  /// Reads the pieces in order; stops at the first byte that cannot be read. Returns the number of bytes read.
  virtual std::size_t read(std::span<const Piece> pieces) = 0;

  /// For each page of `range`, which begins and ends at a page: true if the process has written to it. Any other page
  /// has the content of a file, or zeros. True if the source cannot decide.
  [[nodiscard]] virtual std::vector<bool> written_pages(Range range) {
    return std::vector<bool>((range.end - range.begin) / kPageBytes, true);
  }

  /// True if no other process has the page of this address. A forked child and its parent share a page until one of
  /// them writes to it. False if the source cannot decide.
  [[nodiscard]] virtual bool is_page_unshared(Address) { return false; }

  /// The path by which this process can open a file that the inspected process has mapped as `path`.
  [[nodiscard]] virtual std::string host_path(const std::string& path) const = 0;
};

}  // namespace dcmt::scan
