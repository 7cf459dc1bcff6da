#include "collector/scan/process/elf_symbols.h"

#include "collector/scan/process/elf_file.h"

namespace dcmt::scan {

std::optional<CodeRange> symbol_range(const MemorySource& source, const std::string& part_of_path, const char* symbol) {
  for (const Region& region : source.regions()) {
    if (region.file_offset != 0 || !region.path.starts_with('/') ||
        region.path.find(part_of_path) == std::string::npos) {
      continue;
    }
    const ElfFile file(source.host_path(region.path));
    if (const auto value = file.exported(symbol)) {
      const Address begin = region.begin - file.first_page() + *value;
      return CodeRange{begin, begin + file.exported_bytes(symbol).value_or(0)};
    }
  }
  return std::nullopt;
}

std::optional<Address> symbol_address(const MemorySource& source, const std::string& part_of_path, const char* symbol) {
  const std::optional<CodeRange> range = symbol_range(source, part_of_path, symbol);
  return range ? std::optional<Address>(range->begin) : std::nullopt;
}

}  // namespace dcmt::scan
