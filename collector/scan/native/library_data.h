// The static variables of the libraries that a process has loaded.
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

  /// Whether the address lies in the writable data of a library or of the program.
  [[nodiscard]] bool has(Address address) { return region_of(address) != nullptr; }

  /// "libfoo.so: cache", with the name of the variable where the file's tables have it, else "libfoo.so: static
  /// data+0x40".
  [[nodiscard]] std::string name_of(Address address);

 private:
  struct Library {
    std::unique_ptr<ElfFile> file;
    Address loaded_at = 0;  ///< where its first page is
    Address end = 0;        ///< behind its last variable
  };

  [[nodiscard]] const Region* region_of(Address address);
  const Library& library(const std::string& path);

  const MemorySource& source_;
  std::unordered_map<std::string, Library> libraries_;
};

}  // namespace dcmt::scan
