// Finds the address of a mapped file's symbol in the inspected process.
#pragma once

#include <optional>
#include <string>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// The address of `symbol` in the first mapped file that exports it and whose path contains `part_of_path`.
[[nodiscard]] std::optional<Address> symbol_address(const MemorySource& source, const std::string& part_of_path,
                                                    const char* symbol);

/// The address range of a function in a mapped file.
struct CodeRange {
  Address begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] bool contains(Address address) const { return begin <= address && address < end; }
};

/// Like symbol_address(), with the function's size. Parts that the compiler has moved elsewhere are not included.
[[nodiscard]] std::optional<CodeRange> symbol_range(const MemorySource& source, const std::string& part_of_path,
                                                    const char* symbol);

}  // namespace dcmt::scan
