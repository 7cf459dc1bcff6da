// Where a data symbol of a mapped file lies in the inspected process.
#pragma once

#include <optional>
#include <string>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// The address of `symbol` in the first mapped file that exports it and whose path contains `part_of_path`.
[[nodiscard]] std::optional<Address> symbol_address(const MemorySource& source, const std::string& part_of_path,
                                                    const char* symbol);

}  // namespace dcmt::scan
