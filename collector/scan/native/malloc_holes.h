// How much of its heaps glibc's malloc has free: memory that it keeps for later requests.
#pragma once

#include <cstdint>
#include <optional>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// Reads all heaps, at some GiB a second. A heap of a running process changes meanwhile; where its chunks no longer fit
/// together, the rest of it is not counted, so there may be more. Small chunks that a thread keeps for itself are not
/// counted either.
/// @param most  nothing if the heaps are larger
[[nodiscard]] std::optional<std::int64_t> free_bytes_of_malloc(MemorySource& memory, std::uint64_t most);

}  // namespace dcmt::scan
