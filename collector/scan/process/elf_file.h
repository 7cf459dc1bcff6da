// An ELF file on disk: the addresses of its symbols, what is at an address, and the content there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// A function with a name.
struct FileFunction {
  Address begin = 0;
  std::uint64_t bytes = 0;  ///< 0: unknown
  std::string_view name;    ///< mangled; in the file
};

/// The one of `functions`, as ElfFile::functions() returns them, that covers `value`; nullptr: none.
[[nodiscard]] const FileFunction* function_at(std::span<const FileFunction> functions, Address value);

/// Empty if the file cannot be read or is not a 64-bit ELF file. What a damaged file names beyond its end reads as
/// zeros. The file stays mapped; threads may share it.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// The value of an exported symbol in the file.
  [[nodiscard]] std::optional<Address> exported(std::string_view symbol) const;
  /// The size of an exported symbol in the file, in bytes.
  [[nodiscard]] std::optional<std::uint64_t> exported_bytes(std::string_view symbol) const;
  /// The mangled name of the variable that covers `value`, exported or not.
  [[nodiscard]] std::optional<std::string> variable_at(Address value) const;
  /// All functions, exported or not, ascending by address. An address has one of its names.
  [[nodiscard]] std::vector<FileFunction> functions() const;
  /// What the file has for the addresses from `value` on, up to the end of the segment; empty: nothing.
  [[nodiscard]] std::string_view content_at(Address value) const;
  /// The address of the index of unwinding information (.eh_frame_hdr); 0: the file has none.
  [[nodiscard]] Address unwind_index() const;
  /// The content of a section; empty if there is none, or if it is compressed.
  [[nodiscard]] std::string_view section(std::string_view name) const;
  /// The page that the file requests for its first segment; 0 if the file can be loaded anywhere.
  [[nodiscard]] Address first_page() const;
  /// The end of the last segment in the file; 0 if it has none.
  [[nodiscard]] Address end() const;

 private:
  void unmap();

  std::string_view bytes_;
};

}  // namespace dcmt::scan
