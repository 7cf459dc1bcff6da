// Where a symbol of a mapped file lies in the inspected process.
#pragma once

#include <optional>
#include <string>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// The address of `symbol` in the first mapped file that exports it and whose path contains `part_of_path`.
[[nodiscard]] std::optional<Address> symbol_address(const MemorySource& source, const std::string& part_of_path,
                                                    const char* symbol);

/// What a function of a mapped file covers.
struct CodeRange {
  Address begin = 0, end = 0;
  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] bool contains(Address address) const { return begin <= address && address < end; }
};

/// The same as symbol_address(), with its bytes. Parts of a function that the compiler has put elsewhere are not in it.
[[nodiscard]] std::optional<CodeRange> symbol_range(const MemorySource& source, const std::string& part_of_path,
                                                    const char* symbol);

}  // namespace dcmt::scan
