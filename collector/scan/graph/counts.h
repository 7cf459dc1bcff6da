// Checks whether all references to an object were found, by comparing them with the object's own count.
#pragma once

#include <cstdint>
#include <vector>

#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

/// With these counts, a graph without all objects of a process can still prove that nothing else holds an object. Not
/// thread-safe; for one explored graph.
class Counts {
 public:
  Counts(const Graph& graph, Mirror& memory);

  /// False also if the count is unknown, or changed while it was read.
  [[nodiscard]] bool all_found(NodeIndex node) const;

 private:
  [[nodiscard]] std::uint64_t count_of(const GraphNode& object) const;
  [[nodiscard]] bool is_owned(const GraphEdge& edge) const;

  const Graph& graph_;
  Mirror& memory_;
  std::vector<bool> running_;         ///< frames on a thread's stack, and other roots
  std::vector<std::uint32_t> found_;  ///< references to each node
};

}  // namespace dcmt::scan
