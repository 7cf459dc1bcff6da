// Lines of source code, by the debug information of an ELF file (.debug_line of DWARF 2 to 5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/scan/process/elf_file.h"

namespace dcmt::recorder {

struct SourceLine {
  std::string file;
  std::int64_t line = 0;
};

/// The lines of one file. Thread-safety: none.
class SourceLines {
 public:
  /// Reads all lines of `file`; none if they are compressed, or more than make sense.
  explicit SourceLines(const scan::ElfFile& file);

  /// The line of the instruction at an address in the file. Where it is of a function that was compiled into this one,
  /// as those of the standard library are, the line of this function before it.
  /// @param function  the address where the function begins; the same as `instruction` if it is not known
  [[nodiscard]] std::optional<SourceLine> at(scan::Address instruction, scan::Address function) const;

 private:
  struct Row {
    scan::Address address = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;  ///< 0: from here on, nothing is known
  };
  class Unit;
  [[nodiscard]] const Row* row_at(scan::Address instruction) const;

  std::vector<Row> rows_;  ///< ascending
  std::vector<std::string> files_;
};

}  // namespace dcmt::recorder
