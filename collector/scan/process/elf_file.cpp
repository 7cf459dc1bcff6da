#include "collector/scan/process/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "trace/base/descriptor.h"

namespace dcmt::scan {
namespace {

/// An entry of the table at `offset`, copied because nothing in a file is sure to be aligned. Zeros beyond the end.
template <class Entry>
Entry entry_at(std::string_view file, std::uint64_t offset, std::uint64_t index = 0) {
  Entry entry{};
  if (offset > file.size() || index >= (file.size() - offset) / sizeof entry) return entry;
  std::memcpy(&entry, file.data() + offset + index * sizeof entry, sizeof entry);
  return entry;
}

/// The bytes of a section; fewer if the file ends in it.
std::string_view content_of(std::string_view file, const Elf64_Shdr& section) {
  return section.sh_offset < file.size() ? file.substr(section.sh_offset, section.sh_size) : std::string_view();
}

/// Calls `visit(symbol, name)` for each symbol in the tables of one type, until it returns true.
template <class Visit>
void each_symbol(std::string_view file, std::uint32_t table, Visit visit) {
  const auto header = entry_at<Elf64_Ehdr>(file, 0);
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry_at<Elf64_Shdr>(file, header.e_shoff, i);
    if (section.sh_type != table) continue;
    const std::string_view symbols = content_of(file, section);
    const std::string_view names = content_of(file, entry_at<Elf64_Shdr>(file, header.e_shoff, section.sh_link));
    for (std::uint64_t at = 0; at < symbols.size() / sizeof(Elf64_Sym); ++at) {
      const auto symbol = entry_at<Elf64_Sym>(symbols, 0, at);
      const std::size_t end = names.find('\0', symbol.st_name);
      if (symbol.st_value == 0 || end == std::string_view::npos) continue;
      if (visit(symbol, names.substr(symbol.st_name, end - symbol.st_name))) return;
    }
  }
}

std::optional<Elf64_Sym> exported_symbol(std::string_view file, std::string_view wanted) {
  std::optional<Elf64_Sym> symbol;
  each_symbol(file, SHT_DYNSYM, [&](const Elf64_Sym& found, std::string_view name) {
    if (name != wanted) return false;
    symbol = found;
    return true;
  });
  return symbol;
}

/// Calls `visit(segment)` for each loadable segment.
template <class Visit>
void each_segment(std::string_view file, Visit visit) {
  const auto header = entry_at<Elf64_Ehdr>(file, 0);
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = entry_at<Elf64_Phdr>(file, header.e_phoff, i);
    if (segment.p_type == PT_LOAD) visit(segment);
  }
}

}  // namespace

const FileFunction* function_at(std::span<const FileFunction> functions, Address value) {
  const auto after = std::ranges::upper_bound(functions, value, {}, &FileFunction::begin);
  if (after == functions.begin()) return nullptr;
  const FileFunction& function = *std::prev(after);
  return value - function.begin < std::max<std::uint64_t>(function.bytes, 1) ? &function : nullptr;
}

ElfFile::ElfFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || info.st_size == 0) return;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return;
  bytes_ = {static_cast<const char*>(mapped), size};
  const auto header = entry_at<Elf64_Ehdr>(bytes_, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) unmap();
}

ElfFile::~ElfFile() { unmap(); }

void ElfFile::unmap() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

std::optional<Address> ElfFile::exported(std::string_view symbol) const {
  const std::optional<Elf64_Sym> found = exported_symbol(bytes_, symbol);
  return found ? std::optional<Address>(found->st_value) : std::nullopt;
}

std::optional<std::uint64_t> ElfFile::exported_bytes(std::string_view symbol) const {
  const std::optional<Elf64_Sym> found = exported_symbol(bytes_, symbol);
  return found ? std::optional<std::uint64_t>(found->st_size) : std::nullopt;
}

std::optional<std::string> ElfFile::variable_at(Address value) const {
  std::optional<std::string> variable;
  for (const std::uint32_t table : {SHT_SYMTAB, SHT_DYNSYM}) {
    each_symbol(bytes_, table, [&](const Elf64_Sym& found, std::string_view name) {
      if (ELF64_ST_TYPE(found.st_info) != STT_OBJECT || value < found.st_value ||
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

std::vector<FileFunction> ElfFile::functions() const {
  std::vector<FileFunction> functions;
  for (const std::uint32_t table : {SHT_SYMTAB, SHT_DYNSYM}) {
    each_symbol(bytes_, table, [&](const Elf64_Sym& found, std::string_view name) {
      const auto type = ELF64_ST_TYPE(found.st_info);
      const bool is_here = found.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC);
      if (is_here) functions.push_back({found.st_value, found.st_size, name});
      return false;
    });
  }
  std::ranges::stable_sort(functions, {}, &FileFunction::begin);
  const auto again = std::ranges::unique(functions, {}, &FileFunction::begin);
  functions.erase(again.begin(), again.end());
  return functions;
}

std::string_view ElfFile::content_at(Address value) const {
  std::string_view content;
  each_segment(bytes_, [&](const Elf64_Phdr& segment) {
    if (value < segment.p_vaddr || value - segment.p_vaddr >= segment.p_filesz) return;
    const Address skipped = value - segment.p_vaddr;
    if (segment.p_offset + skipped >= bytes_.size()) return;
    content = bytes_.substr(segment.p_offset + skipped, segment.p_filesz - skipped);
  });
  return content;
}

Address ElfFile::unwind_index() const {
  const auto header = entry_at<Elf64_Ehdr>(bytes_, 0);
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = entry_at<Elf64_Phdr>(bytes_, header.e_phoff, i);
    if (segment.p_type == PT_GNU_EH_FRAME) return segment.p_vaddr;
  }
  return 0;
}

std::string_view ElfFile::section(std::string_view name) const {
  const auto header = entry_at<Elf64_Ehdr>(bytes_, 0);
  const std::string_view names = content_of(bytes_, entry_at<Elf64_Shdr>(bytes_, header.e_shoff, header.e_shstrndx));
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry_at<Elf64_Shdr>(bytes_, header.e_shoff, i);
    if (section.sh_name >= names.size() || section.sh_type == SHT_NOBITS) continue;
    const std::string_view found = names.substr(section.sh_name, names.find('\0', section.sh_name) - section.sh_name);
    if (found == name && (section.sh_flags & SHF_COMPRESSED) == 0) return content_of(bytes_, section);
  }
  return {};
}

Address ElfFile::first_page() const {
  std::optional<Address> first;
  each_segment(bytes_, [&](const Elf64_Phdr& segment) {
    if (!first) first = segment.p_vaddr & ~Address{4095};
  });
  return first.value_or(0);
}

Address ElfFile::end() const {
  Address end = 0;
  each_segment(bytes_, [&](const Elf64_Phdr& segment) { end = std::max(end, segment.p_vaddr + segment.p_memsz); });
  return end;
}

}  // namespace dcmt::scan
