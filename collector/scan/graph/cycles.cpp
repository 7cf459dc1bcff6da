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
    if (counts(graph.edges()[i])) incoming_[graph.edges()[i].target].push_back(i);
  }
}

bool Cycles::counts(const GraphEdge& edge) const {
  return edge.source != kRootNode && edge.cost < kDescribesOnly && !graph_.is_rooted(edge.source) &&
         !graph_.is_rooted(edge.target);
}

/// Tarjan's algorithm, with the calls on a stack of its own: chains can be long.
void Cycles::find_components() {
  struct Visit {
    NodeIndex node;
    EdgeIndex next;
  };
  const std::vector<GraphNode>& nodes = graph_.nodes();
  component_.assign(nodes.size(), 0);
  std::vector<std::uint32_t> order(nodes.size()), lowest(nodes.size());  // 0: not visited
  std::vector<bool> is_open(nodes.size());
  std::vector<NodeIndex> open;
  std::vector<Visit> visits;
  std::uint32_t last_order = 0, last_component = 0;
  const auto visit = [&](NodeIndex node) {
    order[node] = lowest[node] = ++last_order;
    is_open[node] = true;
    open.push_back(node);
    visits.push_back({node, nodes[node].first_edge});
  };
  const auto close = [&](NodeIndex node) {
    // One that leads to itself has its own number already.
    const std::uint32_t component = open.back() == node ? component_[node] : ++last_component;
    while (true) {
      const NodeIndex each = open.back();
      open.pop_back();
      is_open[each] = false;
      component_[each] = component;
      if (each == node) return;
    }
  };
  for (const auto& [start, edges] : incoming_) {
    if (order[start] != 0) continue;
    visit(start);
    while (!visits.empty()) {
      const NodeIndex node = visits.back().node;
      if (visits.back().next < nodes[node].end_edge) {
        const GraphEdge& edge = graph_.edges()[visits.back().next++];
        if (!counts(edge)) continue;
        if (edge.target == node) component_[node] = ++last_component;  // it leads to itself
        if (order[edge.target] == 0) {
          visit(edge.target);
        } else if (is_open[edge.target]) {
          lowest[node] = std::min(lowest[node], order[edge.target]);
        }
        continue;
      }
      visits.pop_back();
      if (!visits.empty()) lowest[visits.back().node] = std::min(lowest[visits.back().node], lowest[node]);
      if (lowest[node] == order[node]) close(node);
    }
  }
}

std::vector<EdgeIndex> Cycles::circle_of(NodeIndex node) const {
  std::unordered_map<NodeIndex, EdgeIndex> reached_by;
  std::vector<NodeIndex> queue{node};
  for (std::size_t i = 0; i < queue.size() && queue.size() < kMostInACircle; ++i) {
    const GraphNode& from = graph_.nodes()[queue[i]];
    for (EdgeIndex number = from.first_edge; number < from.end_edge; ++number) {
      const GraphEdge& edge = graph_.edges()[number];
      if (!counts(edge) || component_[edge.target] != component_[node]) continue;
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
  if (component_.empty()) find_components();
  std::unordered_map<NodeIndex, EdgeIndex> towards;  // the first edge from a keeper towards `node`
  std::vector<NodeIndex> keepers{node};
  for (std::size_t i = 0; i < keepers.size() && i < kMostKeepers; ++i) {
    Cycle cycle{component_[keepers[i]] != 0 ? circle_of(keepers[i]) : std::vector<EdgeIndex>(), {}};
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
