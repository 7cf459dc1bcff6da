// The build id of an ELF object: a hash that its linker computes from its content. It differs between builds.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace dcmt {

inline constexpr std::size_t kMaxBuildIdText = 129;  ///< with the final zero; an id usually has 20 bytes

/// Writes the build id that the notes of an object contain, in hexadecimal; writes an empty text if there is none.
/// `notes`: `bytes` bytes of one PT_NOTE segment. Allocates nothing.
inline void build_id_in(const char* notes, std::size_t bytes, char (&text)[kMaxBuildIdText]) noexcept {
  text[0] = '\0';
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  Elf64_Nhdr note;
  for (std::size_t at = 0; at + sizeof note <= bytes;) {
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note;
    const std::size_t id = name + padded(note.n_namesz);
    if (id > bytes || note.n_descsz > bytes - id) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      if (note.n_descsz > kMaxBuildIdText / 2) return;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        std::snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned char>(notes[id + i]));
      }
      return;
    }
    at = id + padded(note.n_descsz);
  }
}

/// The build id of a file, in hexadecimal; empty if the file has none or is not a 64-bit ELF file.
[[nodiscard]] std::string build_id_of(const std::string& path);

}  // namespace dcmt
