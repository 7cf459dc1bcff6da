#include "collector/scan/process/elf_file.h"

#include <fcntl.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace dcmt::scan {
namespace {

/// Calls `visit(symbol, name)` for each symbol in the tables of one type, until it returns true.
template <class Visit>
void each_symbol(Elf* elf, unsigned table, Visit visit) {
  for (Elf_Scn* section = nullptr; elf != nullptr && (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != table || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const int count = static_cast<int>(header.sh_size / header.sh_entsize);
    for (int i = 0; data != nullptr && i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr || symbol.st_value == 0) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr && visit(symbol, name)) return;
    }
  }
}

std::optional<GElf_Sym> exported_symbol(Elf* elf, const char* wanted) {
  std::optional<GElf_Sym> symbol;
  each_symbol(elf, SHT_DYNSYM, [&](const GElf_Sym& found, const char* name) {
    if (std::strcmp(name, wanted) != 0) return false;
    symbol = found;
    return true;
  });
  return symbol;
}

/// Calls `visit(segment)` for each loadable segment.
template <class Visit>
void each_segment(Elf* elf, Visit visit) {
  std::size_t count = 0;
  if (elf == nullptr || elf_getphdrnum(elf, &count) != 0) return;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD) visit(segment);
  }
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  elf_version(EV_CURRENT);
  if (file_.get() >= 0) elf_ = elf_begin(file_.get(), ELF_C_READ_MMAP, nullptr);
}

ElfFile::~ElfFile() { elf_end(elf_); }

std::optional<Address> ElfFile::exported(const char* symbol) const {
  const std::optional<GElf_Sym> found = exported_symbol(elf_, symbol);
  return found ? std::optional<Address>(found->st_value) : std::nullopt;
}

std::optional<std::uint64_t> ElfFile::exported_bytes(const char* symbol) const {
  const std::optional<GElf_Sym> found = exported_symbol(elf_, symbol);
  return found ? std::optional<std::uint64_t>(found->st_size) : std::nullopt;
}

std::optional<std::string> ElfFile::variable_at(Address value) const {
  std::optional<std::string> variable;
  for (const unsigned table : {SHT_SYMTAB, SHT_DYNSYM}) {
    each_symbol(elf_, table, [&](const GElf_Sym& found, const char* name) {
      if (GELF_ST_TYPE(found.st_info) != STT_OBJECT || value < found.st_value ||
          value - found.st_value >= found.st_size) {
        return false;
      }
      variable = name;
      return true;
    });
    if (variable) break;
  }
  return variable;
}

Address ElfFile::first_page() const {
  std::optional<Address> first;
  each_segment(elf_, [&](const GElf_Phdr& segment) {
    if (!first) first = segment.p_vaddr & ~Address{4095};
  });
  return first.value_or(0);
}

Address ElfFile::end() const {
  Address end = 0;
  each_segment(elf_, [&](const GElf_Phdr& segment) { end = std::max(end, segment.p_vaddr + segment.p_memsz); });
  return end;
}

}  // namespace dcmt::scan
