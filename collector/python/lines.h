// Source lines of instructions, from a code object's line table (PEP 626). CPython's own function reads the table from
// its start every time, so a first pass through a function would have quadratic cost. Marks record where each block of
// bytecode begins in the table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dcmt::python_provider {

/// A code object's line table, borrowed. `code` is the code object's identity, which is never reused.
struct LineTable {
  std::uint64_t code;
  const unsigned char* entries;
  std::size_t bytes;
  int first_line;
};

/// Marks of all code objects. All threads share them without a lock: a reader of a half-written mark finds a wrong
/// check value, and a lost mark makes the next reader's walk longer.
class LineMarks {
 public:
  /// Bytes of bytecode between marks. A shorter function has no marks.
  static constexpr std::int32_t kBlock = 1024;

  struct Answer {
    int line;              ///< 0 if the instruction has none
    std::uint32_t walked;  ///< entries of the table that it has read
  };

  /// @param offset  of the instruction, in bytes; negative: the frame has not started. Allocates nothing; any thread
  /// may call it.
  Answer line_of(const LineTable& table, std::int32_t offset) noexcept;

 private:
  /// A position of a walk through the table: before the entry at `at`, which begins at `offset` of the bytecode.
  struct Place {
    std::uint32_t offset;
    std::uint32_t at;
    std::int64_t line;  ///< line of the entry before
  };
  struct Mark {
    std::atomic<std::uint64_t> check;  ///< key of (code, block) ^ mix(place, line)
    std::atomic<std::uint64_t> place;  ///< offset and at
    std::atomic<std::uint64_t> line;
  };
  static constexpr std::size_t kMarks = 4096;

  Place nearest(const LineTable& table, std::int32_t offset) const noexcept;
  void remember(std::uint64_t code, std::uint32_t block, const Place& place) noexcept;

  Mark marks_[kMarks] = {};
};

}  // namespace dcmt::python_provider
