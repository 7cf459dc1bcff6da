#include "collector/scan/process/elf_symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include <cstring>

namespace dcmt::scan {
namespace {

/// An ELF file, open for reading; empty where it cannot be read or is none.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (file_ >= 0) elf_ = elf_begin(file_, ELF_C_READ_MMAP, nullptr);
  }
  ~ElfFile() {
    elf_end(elf_);
    if (file_ >= 0) close(file_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// The value of an exported symbol, as the file states it.
  [[nodiscard]] std::optional<Address> exported(const char* symbol) const {
    for (Elf_Scn* section = nullptr; elf_ != nullptr && (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
      Elf_Data* data = elf_getdata(section, nullptr);
      const int count = static_cast<int>(header.sh_size / header.sh_entsize);
      for (int i = 0; data != nullptr && i < count; ++i) {
        GElf_Sym found;
        if (gelf_getsym(data, i, &found) == nullptr || found.st_value == 0) continue;
        const char* name = elf_strptr(elf_, header.sh_link, found.st_name);
        if (name != nullptr && std::strcmp(name, symbol) == 0) return found.st_value;
      }
    }
    return std::nullopt;
  }

  /// The page at which the file's first segment wants to lie: 0 for what is loaded anywhere.
  [[nodiscard]] Address first_page() const {
    std::size_t count = 0;
    if (elf_ == nullptr || elf_getphdrnum(elf_, &count) != 0) return 0;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD) {
        return segment.p_vaddr & ~Address{4095};
      }
    }
    return 0;
  }

 private:
  int file_;
  Elf* elf_ = nullptr;
};

}  // namespace

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
