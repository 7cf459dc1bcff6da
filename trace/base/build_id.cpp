#include "trace/base/build_id.h"

#include <fstream>

namespace dcmt {

std::string build_id_of(const std::string& path) {
  constexpr std::size_t kMaxNotes = 1 << 20;
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(segment.p_offset));
    if (!file.read(notes.data(), static_cast<std::streamsize>(notes.size()))) return {};
    char text[kMaxBuildIdText];
    build_id_in(notes.data(), notes.size(), text);
    if (text[0] != '\0') return text;
  }
  return {};
}

}  // namespace dcmt
