#include "collector/scan/graph/cycles.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

/// Limit of the search: a relevant cycle is near the object that it keeps.
constexpr std::size_t kMostKeepers = 200;
constexpr std::size_t kMostInACircle = 100'000;
/// References that only describe a type or a function's module close cycles that keep nothing.
constexpr std::uint8_t kDescribesOnly = 9;

bool has_two_objects(Kind kind) {
  return kind == Kind::kTensor || kind == Kind::kPythonTensor || kind == Kind::kStorage || kind == Kind::kPythonStorage;
}

}  // namespace

Cycles::Cycles(const Graph& graph) : graph_(graph) {
  for (EdgeIndex i = 0; i < graph.edges().size(); ++i) {
    const GraphEdge& edge = graph.edges()[i];
    if (edge.source == kRootNode || edge.cost >= kDescribesOnly) continue;
    if (!graph.is_rooted(edge.source) && !graph.is_rooted(edge.target)) incoming_[edge.target].push_back(i);
  }
}

std::vector<EdgeIndex> Cycles::circle_of(NodeIndex node) const {
  std::unordered_map<NodeIndex, EdgeIndex> reached_by;
  std::vector<NodeIndex> queue{node};
  for (std::size_t i = 0; i < queue.size() && queue.size() < kMostInACircle; ++i) {
    const GraphNode& from = graph_.nodes()[queue[i]];
    for (EdgeIndex number = from.first_edge; number < from.end_edge; ++number) {
      const GraphEdge& edge = graph_.edges()[number];
      if (edge.cost >= kDescribesOnly || graph_.is_rooted(edge.target)) continue;
      // A tensor or storage in Python and its counterpart in C++ refer to each other, but that alone keeps neither.
      const bool closes = edge.target == node;
      if (closes && edge.source != node && graph_.edges()[reached_by.at(edge.source)].source == node &&
          has_two_objects(from.kind) && has_two_objects(graph_.nodes()[node].kind)) {
        continue;
      }
      if (!reached_by.try_emplace(edge.target, number).second) continue;
      if (!closes) {
        queue.push_back(edge.target);
        continue;
      }
      std::vector<EdgeIndex> circle{number};
      for (NodeIndex at = edge.source; at != node; at = graph_.edges()[circle.back()].source) {
        circle.push_back(reached_by.at(at));
      }
      std::ranges::reverse(circle);
      return circle;
    }
  }
  return {};
}

std::optional<Cycle> Cycles::keeping(NodeIndex node) {
  std::unordered_map<NodeIndex, EdgeIndex> towards;  // the first edge from a keeper towards `node`
  std::vector<NodeIndex> keepers{node};
  for (std::size_t i = 0; i < keepers.size() && i < kMostKeepers; ++i) {
    Cycle cycle{circle_of(keepers[i]), {}};
    if (!cycle.circle.empty()) {
      for (NodeIndex at = keepers[i]; at != node; at = graph_.edges()[cycle.from_it.back()].target) {
        cycle.from_it.push_back(towards.at(at));
      }
      return cycle;
    }
    const auto found = incoming_.find(keepers[i]);
    if (found == incoming_.end()) continue;
    for (const EdgeIndex number : found->second) {
      const NodeIndex source = graph_.edges()[number].source;
      if (source != node && towards.try_emplace(source, number).second) keepers.push_back(source);
    }
  }
  return std::nullopt;
}

}  // namespace dcmt::scan
