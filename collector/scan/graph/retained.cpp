#include "collector/scan/graph/retained.h"

#include <algorithm>
#include <functional>

#include "collector/scan/graph/dominators.h"

namespace dcmt::scan {

std::vector<RetainedBy> most_retained(const Graph& graph, const Counts& counts, const std::vector<StorageOf>& storages,
                                      std::uint64_t least) {
  const Dominators dominators(graph, counts);
  std::vector<std::uint64_t> bytes(graph.nodes().size());
  std::vector<std::uint64_t> numbers(graph.nodes().size());
  for (const StorageOf& each : storages) {
    bytes[each.node] = each.bytes;
    numbers[each.node] = 1;
  }
  bytes = dominators.sums(std::move(bytes));
  numbers = dominators.sums(std::move(numbers));
  std::vector<bool> is_root(graph.nodes().size());
  is_root[kRootNode] = true;
  for (const GraphEdge& edge : graph.edges()) {
    if (edge.source == kRootNode) is_root[edge.target] = true;
  }
  std::vector<RetainedBy> result;
  for (NodeIndex node = 1; node < graph.nodes().size(); ++node) {
    // A program can only drop Python objects.
    if (!is_python_object(graph.nodes()[node].kind) || is_root[node] || !graph.is_rooted(node)) continue;
    if (bytes[node] < least || bytes[node] == 0) continue;
    const NodeIndex by = dominators.of(node);
    if (!is_root[by] && bytes[by] == bytes[node]) continue;
    result.push_back({node, bytes[node], numbers[node], dominators.references_to(node)});
  }
  std::ranges::stable_sort(result, std::greater(), &RetainedBy::bytes);
  return result;
}

}  // namespace dcmt::scan
