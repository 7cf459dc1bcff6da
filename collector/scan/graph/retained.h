// The objects with which most bytes of storages would go.
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

/// An object, and what would go with it.
struct RetainedBy {
  NodeIndex node = 0;
  std::uint64_t bytes = 0;
  std::uint64_t storages = 0;
  std::uint32_t references = 0;  ///< to the object, but for those of what would go with it
};

/// Most bytes first, of `least` bytes and more. Of several objects with which the same goes, the first on the way from
/// the root. What a root is itself, a frame or a module, is left out.
[[nodiscard]] std::vector<RetainedBy> most_retained(const Graph& graph, const Counts& counts,
                                                    const std::vector<StorageOf>& storages, std::uint64_t least);

}  // namespace dcmt::scan
