#include "collector/scan/process/elf_symbols.h"

#include "collector/scan/process/elf_file.h"

namespace dcmt::scan {

std::optional<Address> symbol_address(const MemorySource& source, const std::string& part_of_path, const char* symbol) {
  for (const Region& region : source.regions()) {
    if (region.file_offset != 0 || !region.path.starts_with('/') ||
        region.path.find(part_of_path) == std::string::npos) {
      continue;
    }
    const ElfFile file(source.host_path(region.path));
    if (const auto value = file.exported(symbol)) return region.begin - file.first_page() + *value;
  }
  return std::nullopt;
}

}  // namespace dcmt::scan
