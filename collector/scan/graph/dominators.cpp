#include "collector/scan/graph/dominators.h"

#include <algorithm>
#include <limits>

namespace dcmt::scan {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Dominators::Dominators(const Graph& graph, const Counts& counts)
    : number_(graph.nodes().size(), kNone), first_(graph.nodes().size() + 1), dominator_(graph.nodes().size()) {
  number(graph);
  gather_sources(graph, counts);
  find();
}

/// Numbers the nodes in reverse postorder of a depth-first search. Edges of roots can be anywhere in the graph's list.
void Dominators::number(const Graph& graph) {
  std::vector<NodeIndex> roots;
  for (const GraphEdge& edge : graph.edges()) {
    if (edge.source == kRootNode) roots.push_back(edge.target);
  }
  struct Visit {
    NodeIndex node;
    EdgeIndex next;
  };
  std::vector<Visit> visits;
  const auto visit = [&](NodeIndex node) {
    if (number_[node] != kNone) return;
    number_[node] = 0;  // visited
    visits.push_back({node, graph.nodes()[node].first_edge});
  };
  number_[kRootNode] = 0;
  for (const NodeIndex root : roots) {
    visit(root);
    while (!visits.empty()) {
      auto& [node, next] = visits.back();
      if (next == graph.nodes()[node].end_edge) {
        order_.push_back(node);
        visits.pop_back();
      } else {
        visit(graph.edges()[next++].target);
      }
    }
  }
  order_.push_back(kRootNode);
  std::ranges::reverse(order_);
  for (std::uint32_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i;
}

void Dominators::gather_sources(const Graph& graph, const Counts& counts) {
  std::vector<bool> may_stay(graph.nodes().size());
  for (NodeIndex node = 1; node < graph.nodes().size(); ++node) {
    if (number_[node] == kNone) continue;
    may_stay[node] = !counts.all_found(node);
    if (may_stay[node]) ++first_[node + 1];
  }
  for (const GraphEdge& edge : graph.edges()) {
    if (number_[edge.source] != kNone) ++first_[edge.target + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  sources_.resize(first_.back());
  std::vector<std::uint32_t> next = first_;
  for (NodeIndex node = 1; node < graph.nodes().size(); ++node) {
    if (may_stay[node]) sources_[next[node]++] = kRootNode;
  }
  for (const GraphEdge& edge : graph.edges()) {
    if (number_[edge.source] != kNone) sources_[next[edge.target]++] = edge.source;
  }
}

NodeIndex Dominators::common(NodeIndex a, NodeIndex b) const {
  while (a != b) {
    if (number_[a] > number_[b]) {
      a = dominator_[a];
    } else {
      b = dominator_[b];
    }
  }
  return a;
}

void Dominators::find() {
  std::vector<bool> known(dominator_.size());
  known[kRootNode] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeIndex node : order_) {
      if (node == kRootNode) continue;
      NodeIndex nearest = kNone;
      for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
        const NodeIndex source = sources_[i];
        if (known[source]) nearest = nearest == kNone ? source : common(nearest, source);
      }
      if (nearest == kNone || (known[node] && dominator_[node] == nearest)) continue;
      dominator_[node] = nearest;
      known[node] = changed = true;
    }
  }
}

bool Dominators::is_dominated_by(NodeIndex node, NodeIndex by) const {
  while (node != kRootNode && number_[node] > number_[by]) node = dominator_[node];
  return node == by;
}

std::uint32_t Dominators::references_to(NodeIndex node) const {
  return static_cast<std::uint32_t>(std::count_if(sources_.begin() + first_[node], sources_.begin() + first_[node + 1],
                                                  [&](NodeIndex source) { return !is_dominated_by(source, node); }));
}

std::vector<std::uint64_t> Dominators::sums(std::vector<std::uint64_t> own) const {
  std::for_each(order_.rbegin(), order_.rend(), [&](NodeIndex node) {
    if (node != kRootNode) own[dominator_[node]] += own[node];
  });
  return own;
}

}  // namespace dcmt::scan
