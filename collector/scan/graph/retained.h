// The objects that would free the most bytes of storages.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/graph/counts.h"
#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

struct StorageOf {
  NodeIndex node = 0;
  std::uint64_t bytes = 0;
};

/// An object, and what would be freed with it.
struct RetainedBy {
  NodeIndex node = 0;
  std::uint64_t bytes = 0;
  std::uint64_t storages = 0;
  std::uint32_t references = 0;  ///< references to the object, except from objects that would be freed with it
};

/// Sorted by bytes, the largest first; at least `least` bytes. If several objects would free the same storages, the one
/// nearest to the root is used. Roots themselves, such as a frame or a module, are not included.
[[nodiscard]] std::vector<RetainedBy> most_retained(const Graph& graph, const Counts& counts,
                                                    const std::vector<StorageOf>& storages, std::uint64_t least);

}  // namespace dcmt::scan
