// Names of C++ functions by their addresses in loaded files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "collector/scan/process/elf_file.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class NativeNames {
 public:
  /// The function that covers the address, demangled, without its parameters; "+0x40" if the file has no name for it.
  /// @param path  of the file  @param offset  from where it is loaded
  [[nodiscard]] std::string function_at(const std::string& path, std::uint64_t offset);

 private:
  struct File {
    std::unique_ptr<scan::ElfFile> file;
    std::vector<scan::FileFunction> functions;  ///< ascending
  };

  const File& file_of(const std::string& path);

  std::map<std::string, File, std::less<>> files_;
};

}  // namespace dcmt::recorder
