// What would go with an object: everything to which each way from a root leads through it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "collector/scan/graph/counts.h"
#include "collector/scan/graph/graph.h"

namespace dcmt::scan {

/// The dominator tree of a graph, by the algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
/// Algorithm"). What has references that were not found hangs on the root as well: it may stay.
class Dominators {
 public:
  Dominators(const Graph& graph, const Counts& counts);

  /// The nearest object without which this one would be gone; kRootNode: there is none.
  [[nodiscard]] NodeIndex of(NodeIndex node) const { return dominator_[node]; }
  /// References to the object, but for those of objects that would go with it.
  [[nodiscard]] std::uint32_t references_to(NodeIndex node) const;
  /// The sum of `own` over each object and all that would go with it.
  [[nodiscard]] std::vector<std::uint64_t> sums(std::vector<std::uint64_t> own) const;

 private:
  void number(const Graph& graph);
  void gather_sources(const Graph& graph, const Counts& counts);
  void find();
  [[nodiscard]] NodeIndex common(NodeIndex a, NodeIndex b) const;
  [[nodiscard]] bool is_dominated_by(NodeIndex node, NodeIndex by) const;

  std::vector<NodeIndex> order_;       ///< each object after those by which a search from the root met it first
  std::vector<std::uint32_t> number_;  ///< place in `order_`; kNone: no root leads to it
  std::vector<NodeIndex> sources_;     ///< of references to node n: those from first_[n] to first_[n + 1]
  std::vector<std::uint32_t> first_;
  std::vector<NodeIndex> dominator_;
};

}  // namespace dcmt::scan
