// Lines of source code, by the debug information of an ELF file (.debug_line of DWARF 2 to 5).
#pragma once

#include <cstdint>
#include <map>
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

  /// The line of the instruction at an address in the file. It may be of a function that was compiled into another one.
  [[nodiscard]] std::optional<SourceLine> at(scan::Address instruction) const;
  /// The file with a number of a unit's.
  /// @param unit  offset of its lines in the section
  [[nodiscard]] std::optional<std::string> file(std::uint64_t unit, std::uint64_t number) const;

 private:
  struct Row {
    scan::Address address = 0;
    std::uint32_t file = 0;
    std::uint32_t line = 0;  ///< 0: from here on, nothing is known
  };
  class Unit;

  std::vector<Row> rows_;                                         ///< ascending
  std::map<std::uint64_t, std::vector<std::uint32_t>> of_units_;  ///< numbers in `files_`
  std::vector<std::string> files_;
};

}  // namespace dcmt::recorder
