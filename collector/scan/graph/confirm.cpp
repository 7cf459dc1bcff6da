#include "collector/scan/graph/confirm.h"

#include <algorithm>

namespace dcmt::scan {

SecondReading::SecondReading(const Graph& graph, Mirror& memory, ProcessTypes& types,
                             const std::vector<NamedRoot>& roots)
    : graph_(graph), objects_(memory, types) {
  for (const NamedRoot& each : roots) roots_.insert(each.root);
}

bool SecondReading::confirms(std::span<const EdgeIndex> way) {
  return std::ranges::all_of(way, [this](EdgeIndex number) {
    const GraphEdge& edge = graph_.edges()[number];
    if (edge.source == kRootNode) return roots_.contains(graph_.root(edge.index));
    const GraphNode& source = graph_.nodes()[edge.source];
    const auto [found, fresh] = read_.try_emplace(edge.source);
    if (fresh) objects_.decode(source.address, source.kind, found->second);
    return std::ranges::any_of(found->second, [&](const Reference& reference) {
      return reference.target == graph_.nodes()[edge.target].address && reference.label == edge.label &&
             reference.index == edge.index;
    });
  });
}

}  // namespace dcmt::scan
