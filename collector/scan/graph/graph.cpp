#include "collector/scan/graph/graph.h"

#include <algorithm>
#include <utility>

namespace dcmt::scan {
namespace {

/// The cost of objects without a root; every path from a root costs less. Beyond that, a longer path costs the same: a
/// list of thousands of links, or a deep graph, is read to its end.
constexpr std::uint16_t kUnrootedCost = 300;
constexpr std::uint32_t kHighestCost = 400;
/// An operand of a frame on a stack is there for one statement: whatever else leads to it says more.
constexpr std::uint32_t kForOneStatement = 50;
/// How far ahead memory is loaded into the processor's cache. An exploration waits for memory most of its time.
constexpr std::size_t kAhead = 8;
constexpr std::uint64_t kIndexBits = (std::uint64_t{1} << 48) - 1;

/// A frame can have the same address as the object that contains it, and so can the first member of a class.
Address key_of(Address address, Kind kind) {
  switch (kind) {
    case Kind::kFrame:
      return address | 1;
    case Kind::kCppClass:
      return address | 2;
    case Kind::kCppContainer:
      return address | 4;
    default:
      return address;
  }
}

}  // namespace

Graph::Graph(PythonObjects& objects, GraphLimits limits)
    : objects_(objects), limits_(limits), nodes_(1), by_cost_(kHighestCost) {
  nodes_[kRootNode].explored = true;
}

bool Graph::has_key(NodeIndex node, Address key) const {
  return key_of(nodes_[node].address, nodes_[node].kind) == key;
}

NodeIndex Graph::node_of(Address address, Kind kind) {
  const Address key = key_of(address, kind);
  const auto next = static_cast<NodeIndex>(nodes_.size());
  const NodeIndex node = numbers_.find_or_add(key, next, [&](NodeIndex each) { return has_key(each, key); });
  if (node == next) nodes_.push_back({.address = address, .kind = kind});
  return node;
}

NodeIndex Graph::find(Address address, Kind kind) const {
  const Address key = key_of(address, kind);
  return numbers_.find(key, [&](NodeIndex each) { return has_key(each, key); });
}

bool Graph::is_rooted(NodeIndex node) const { return nodes_[node].cost < kUnrootedCost; }

void Graph::offer(EdgeIndex edge, std::uint32_t cost) {
  GraphNode& target = nodes_[edges_[edge].target];
  if (cost >= target.cost) return;
  target.cost = static_cast<std::uint16_t>(cost);
  target.best_edge = edge;
  by_cost_[cost].push_back(edges_[edge].target);
}

void Graph::add_root(Root root, std::uint8_t cost) {
  if (root.address == 0) return;
  edges_.push_back({kRootNode, node_of(root.address, root.kind), roots_.size() & kIndexBits, Label::kRoot, cost});
  roots_.push_back(std::move(root));
  offer(static_cast<EdgeIndex>(edges_.size() - 1), cost);
}

bool Graph::add_unrooted(Address address, Kind kind) {
  const NodeIndex node = node_of(address, kind);
  if (nodes_[node].explored || nodes_[node].cost <= kUnrootedCost) return false;
  edges_.push_back({kRootNode, node, 0, Label::kRoot, 0});
  if (roots_.empty() || !roots_.back().name.empty()) roots_.emplace_back();
  edges_.back().index = (roots_.size() - 1) & kIndexBits;
  offer(static_cast<EdgeIndex>(edges_.size() - 1), kUnrootedCost);
  return true;
}

void Graph::explore() {
  std::vector<Reference> references;
  for (std::uint32_t cost = 0; cost < by_cost_.size(); ++cost) {
    const std::uint32_t highest = (cost < kUnrootedCost ? kUnrootedCost : kHighestCost) - 1;
    for (std::size_t i = 0; i < by_cost_[cost].size(); ++i) {
      const std::vector<NodeIndex>& queue = by_cost_[cost];
      if (i + kAhead < queue.size()) __builtin_prefetch(&nodes_[queue[i + kAhead]]);
      if (i + kAhead / 2 < queue.size()) objects_.prefetch(nodes_[queue[i + kAhead / 2]].address);
      const NodeIndex source = queue[i];
      if (nodes_[source].explored || nodes_[source].cost != cost) continue;
      if (edges_.size() >= limits_.most_edges) return;
      nodes_[source].explored = true;
      objects_.decode(nodes_[source].address, nodes_[source].kind, references);
      for (const Reference& reference : references) numbers_.prefetch(key_of(reference.target, reference.kind));
      const std::size_t first = edges_.size();
      nodes_[source].first_edge = static_cast<EdgeIndex>(first);
      const bool on_a_stack = edges_[nodes_[source].best_edge].source == kRootNode;
      for (const Reference& reference : references) {
        const NodeIndex target = node_of(reference.target, reference.kind);
        __builtin_prefetch(&nodes_[target]);
        edges_.push_back({source, target, reference.index & kIndexBits, reference.label, reference.cost});
      }
      for (std::size_t added = first; added < edges_.size(); ++added) {
        const GraphEdge& edge = edges_[added];
        if (!nodes_[edge.target].explored && edge.cost <= limits_.dearest) {
          const bool passes = on_a_stack && edge.label == Label::kOperand;
          offer(static_cast<EdgeIndex>(added), std::min(cost + edge.cost + (passes ? kForOneStatement : 0), highest));
        }
      }
      nodes_[source].end_edge = static_cast<EdgeIndex>(edges_.size());
    }
    by_cost_[cost].clear();
  }
}

}  // namespace dcmt::scan
