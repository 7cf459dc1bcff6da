// The static variables of a process's libraries.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "collector/scan/memory/memory_source.h"
#include "collector/scan/process/elf_file.h"

namespace dcmt::scan {

/// Not thread-safe. `source` must outlive it.
class LibraryData {
 public:
  explicit LibraryData(const MemorySource& source) : source_(source) {}

  /// True if the address is in the writable data of a library or of the program.
  [[nodiscard]] bool has(Address address) { return region_of(address) != nullptr; }

  /// "libfoo.so: cache" if the file's tables have the variable's name, else "libfoo.so: static data+0x40".
  [[nodiscard]] std::string name_of(Address address);

 private:
  struct Library {
    std::unique_ptr<ElfFile> file;
    Address loaded_at = 0;  ///< address of its first page
    Address end = 0;        ///< end of its last variable
  };

  [[nodiscard]] const Region* region_of(Address address);
  const Library& library(const std::string& path);

  const MemorySource& source_;
  std::unordered_map<std::string, Library> libraries_;
};

}  // namespace dcmt::scan
