// For objects that no root leads to: finds the cycle of references that keeps them.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

/// A cycle of references, and the path from it to an object that it keeps.
struct Cycle {
  std::vector<EdgeIndex> circle;   ///< from its first object back to this object
  std::vector<EdgeIndex> from_it;  ///< from that first object to the kept one; empty if the kept one is in the cycle
};

/// Not thread-safe; for one explored graph.
class Cycles {
 public:
  explicit Cycles(const Graph& graph);

  /// The cycle nearest to `node`, an object without a root. None if an object that was not decoded keeps it.
  [[nodiscard]] std::optional<Cycle> keeping(NodeIndex node);

 private:
  [[nodiscard]] std::vector<EdgeIndex> circle_of(NodeIndex node) const;
  /// Whether an edge can be a part of a cycle that keeps something.
  [[nodiscard]] bool counts(const GraphEdge& edge) const;
  void find_components();

  const Graph& graph_;
  /// Objects have the same number, other than zero, if each leads to the other. Most objects have no such other one.
  std::vector<std::uint32_t> component_;
  /// References between objects without a root, by target.
  std::unordered_map<NodeIndex, std::vector<EdgeIndex>> incoming_;
};

}  // namespace dcmt::scan
