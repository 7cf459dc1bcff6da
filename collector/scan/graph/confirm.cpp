#include "collector/scan/graph/confirm.h"

#include <algorithm>
#include <utility>

namespace dcmt::scan {

SecondReading::SecondReading(const Graph& graph, Mirror& memory, ProcessTypes& types, Address runtime, OwnModules* own,
                             std::span<const CppVariable> variables)
    : graph_(graph), objects_(memory, types), compared_(graph.edges().size(), Compared::kNot) {
  PythonText text(memory, types);
  if (runtime != 0) {
    for (NamedRoot& each : named_roots(memory, types, text, runtime, own)) roots_.insert(std::move(each.root));
  }
  for (NamedRoot& each : cpp_roots(variables, memory, types)) roots_.insert(std::move(each.root));
}

bool SecondReading::confirms(std::span<const EdgeIndex> way) {
  for (std::size_t i = 0; i < way.size(); ++i) {
    if (!is_same(way[i])) return false;
    const NodeIndex source = graph_.edges()[way[i]].source;
    if (i == 0 || graph_.edges()[way[i - 1]].target == source) continue;
    if (!confirms_run(graph_.edges()[way[i - 1]].target, source)) return false;
  }
  return true;
}

bool SecondReading::confirms_run(NodeIndex first, NodeIndex last) {
  std::vector<NodeIndex> within;
  auto known = runs_.find(last);
  for (; last != first && known == runs_.end(); known = runs_.find(last)) {
    within.push_back(last);
    last = graph_.edges()[graph_.nodes()[last].best_edge].source;
  }
  bool same = last == first || known->second;
  for (auto each = within.rbegin(); each != within.rend(); ++each) {
    same = same && is_same(graph_.nodes()[*each].best_edge);
    runs_.emplace(*each, same);
  }
  return same;
}

bool SecondReading::is_same(EdgeIndex number) {
  Compared& compared = compared_[number];
  if (compared == Compared::kNot) compared = is_there(number) ? Compared::kSame : Compared::kOther;
  return compared == Compared::kSame;
}

bool SecondReading::is_there(EdgeIndex number) {
  const GraphEdge& edge = graph_.edges()[number];
  if (edge.source == kRootNode) return roots_.contains(graph_.root(edge.index));
  const GraphNode& source = graph_.nodes()[edge.source];
  const auto [found, fresh] = read_.try_emplace(edge.source);
  if (fresh) objects_.decode(source.address, source.kind, found->second);
  return std::ranges::any_of(found->second, [&](const Reference& reference) {
    return reference.target == graph_.nodes()[edge.target].address && reference.label == edge.label &&
           reference.index == edge.index;
  });
}

}  // namespace dcmt::scan
