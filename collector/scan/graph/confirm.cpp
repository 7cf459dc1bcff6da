#include "collector/scan/graph/confirm.h"

#include <algorithm>

namespace dcmt::scan {

bool SecondReading::confirms(std::span<const EdgeIndex> way) {
  return std::ranges::all_of(way, [this](EdgeIndex number) {
    const GraphEdge& edge = graph_.edges()[number];
    if (edge.source == kRootNode) return true;
    const GraphNode& source = graph_.nodes()[edge.source];
    const auto [found, fresh] = read_.try_emplace(edge.source);
    if (fresh) objects_.decode(source.address, source.kind, found->second);
    return std::ranges::any_of(found->second, [&](const Reference& reference) {
      return reference.target == graph_.nodes()[edge.target].address && reference.label == edge.label;
    });
  });
}

}  // namespace dcmt::scan
