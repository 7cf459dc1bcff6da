// An ELF file on disk: where it defines a symbol, and which variable lies at a place.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <optional>
#include <string>

#include "collector/scan/memory/memory_source.h"
#include "trace/base/descriptor.h"

namespace dcmt::scan {

/// Empty where the file cannot be read or is none. Not thread-safe.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  /// The value of an exported symbol, as the file states it.
  [[nodiscard]] std::optional<Address> exported(const char* symbol) const;
  /// The bytes of an exported symbol, as the file states them.
  [[nodiscard]] std::optional<std::uint64_t> exported_bytes(const char* symbol) const;
  /// The name of the variable that covers `value`, exported or not, as the compiler has mangled it.
  [[nodiscard]] std::optional<std::string> variable_at(Address value) const;
  /// The page at which the file's first segment wants to lie: 0 for what is loaded anywhere.
  [[nodiscard]] Address first_page() const;
  /// The end of its last segment, as the file states it; 0 if it has none.
  [[nodiscard]] Address end() const;

 private:
  Descriptor file_;
  Elf* elf_ = nullptr;
};

}  // namespace dcmt::scan
