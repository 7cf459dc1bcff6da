// Computes what would be freed with an object: all objects whose every path from a root leads through it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collector/scan/graph/counts.h"
#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

/// The dominator tree of a graph, by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
/// Algorithm"). An object with references that were not found also depends on the root, because it may stay.
class Dominators {
 public:
  Dominators(const Graph& graph, const Counts& counts);

  /// The nearest object without which this one would be freed; kRootNode: none.
  [[nodiscard]] NodeIndex of(NodeIndex node) const { return dominator_[node]; }
  /// References to the object, except from objects that would be freed with it.
  [[nodiscard]] std::uint32_t references_to(NodeIndex node) const;
  /// For each object, the sum of `own` over it and all objects that would be freed with it.
  [[nodiscard]] std::vector<std::uint64_t> sums(std::vector<std::uint64_t> own) const;

 private:
  void number(const Graph& graph);
  void gather_sources(const Graph& graph, const Counts& counts);
  void find();
  [[nodiscard]] NodeIndex common(NodeIndex a, NodeIndex b) const;
  [[nodiscard]] bool is_dominated_by(NodeIndex node, NodeIndex by) const;

  std::vector<NodeIndex> order_;       ///< each object after those through which a search from the root reached it
  std::vector<std::uint32_t> number_;  ///< index in `order_`; kNone: no root leads to it
  std::vector<NodeIndex> sources_;     ///< sources of the references to node n: from first_[n] to first_[n + 1]
  std::vector<std::uint32_t> first_;
  std::vector<NodeIndex> dominator_;
};

}  // namespace dcmt::scan
