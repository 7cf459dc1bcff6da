// Whether the references in a graph are all that an object has: its own count says how many there are.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

/// A graph that does not have all objects of a process still proves by this that nothing else holds one. Not
/// thread-safe; made for one explored graph.
class Counts {
 public:
  Counts(const Graph& graph, Mirror& memory);

  /// False also where the count is not known, or was changed while it was read.
  [[nodiscard]] bool all_found(NodeIndex node) const;

 private:
  [[nodiscard]] std::uint64_t count_of(const GraphNode& object) const;
  [[nodiscard]] bool is_owned(const GraphEdge& edge) const;

  const Graph& graph_;
  Mirror& memory_;
  std::vector<std::uint32_t> found_;  ///< references to each node
};

}  // namespace dcmt::scan
