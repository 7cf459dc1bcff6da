#include "collector/scan/graph/arrays.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "collector/scan/graph/containers.h"
#include "collector/scan/objects/numpy_array.h"

namespace dcmt::scan {
namespace {

/// Smaller arrays are more numerous than large ones, and less informative.
constexpr std::uint64_t kSmallest = 4096;
constexpr std::size_t kMostArrays = 20'000;
constexpr std::size_t kMostHolders = 16;

/// Smaller graphs are not counted, and no more than this many.
constexpr std::size_t kFewestNodes = 32, kMostGraphs = 1'000;
/// glibc writes the size of a block before it, with flags in the low bits. A node's block has a size in this range.
constexpr Address kBlockSize = 8;
constexpr std::uint64_t kBlockFlags = 7, kSmallestNode = 64, kLargestNode = 16'384;

/// An array, or a tensor with the nodes of its graph.
struct CountedIn {
  NodeIndex node = 0;
  std::uint64_t bytes = 0;
  std::size_t count = 1;
};

std::vector<CountedIn> find_arrays(const Graph& graph, Mirror& memory) {
  std::vector<CountedIn> arrays;
  std::set<Address> seen;
  for (NodeIndex node = 1; node < graph.nodes().size(); ++node) {
    const GraphNode& object = graph.nodes()[node];
    if (object.kind != Kind::kArray || !graph.is_rooted(node)) continue;
    const std::optional<OwnedData> data = owned_data(memory, object.address);
    if (data && data->bytes >= kSmallest && seen.insert(data->data).second) arrays.push_back({node, data->bytes});
  }
  std::ranges::stable_sort(arrays, std::greater(), &CountedIn::bytes);
  if (arrays.size() > kMostArrays) arrays.resize(kMostArrays);
  return arrays;
}

/// The tensors through which the nodes of graphs are held, each with the nodes that the best paths through it lead to.
std::vector<CountedIn> find_graphs(const Graph& graph, Mirror& memory) {
  std::vector<NodeIndex> tensor_of(graph.nodes().size(), 0);
  std::map<NodeIndex, CountedIn> by_tensor;
  std::vector<NodeIndex> way;
  for (NodeIndex node = 1; node < graph.nodes().size(); ++node) {
    if (graph.nodes()[node].kind != Kind::kNode || !graph.is_rooted(node)) continue;
    NodeIndex at = node;
    while (graph.nodes()[at].kind == Kind::kNode && tensor_of[at] == 0) {
      way.push_back(at);
      at = graph.edges()[graph.nodes()[at].best_edge].source;
    }
    const NodeIndex tensor = graph.nodes()[at].kind == Kind::kNode ? tensor_of[at] : at;
    for (const NodeIndex each : way) tensor_of[each] = tensor;
    way.clear();
    const std::uint64_t block = memory.word(graph.nodes()[node].address - kBlockSize) & ~kBlockFlags;
    CountedIn& held = by_tensor.try_emplace(tensor, CountedIn{tensor, 0, 0}).first->second;
    held.bytes += block >= kSmallestNode && block <= kLargestNode ? block : 0;
    ++held.count;
  }
  std::vector<CountedIn> graphs;
  for (const auto& [tensor, held] : by_tensor) {
    if (held.count >= kFewestNodes && tensor != kRootNode) graphs.push_back(held);
  }
  std::ranges::stable_sort(graphs, std::greater(), &CountedIn::bytes);
  if (graphs.size() > kMostGraphs) graphs.resize(kMostGraphs);
  return graphs;
}

std::vector<HeldArrays> by_holder(const std::vector<CountedIn>& all, const Graph& graph, ProcessTypes& types,
                                  Paths& paths, PythonText& text) {
  ContainerSearch search(graph, types.names);
  std::vector<std::pair<std::vector<EdgeIndex>, CountedIn>> ways;
  for (const CountedIn& each : all) {
    std::vector<EdgeIndex> way = paths.way_to(each.node);
    if (way.empty()) continue;
    search.add(way, each.bytes);
    ways.emplace_back(std::move(way), each);
  }
  std::map<NodeIndex, HeldArrays> by_container;
  for (const Container& container : search.find(paths)) {
    if (container.kind != ContainerKind::kEntries) continue;
    const GraphNode& object = graph.nodes()[container.node];
    by_container[container.node] = {paths.text_of(container.way), paths.place_of(container.way),
                                    text.type_name(object.address, object.kind), 0, 0};
  }
  std::vector<HeldArrays> held;
  for (const auto& [way, each] : ways) {
    const auto in =
        std::ranges::find_if(way, [&](EdgeIndex edge) { return by_container.contains(graph.edges()[edge].source); });
    if (in == way.end()) {
      held.push_back({paths.text_of(way), paths.place_of(way), "", each.count, each.bytes});
      continue;
    }
    HeldArrays& holder = by_container[graph.edges()[*in].source];
    holder.arrays += each.count;
    holder.bytes += each.bytes;
  }
  for (auto& [node, holder] : by_container) {
    if (holder.arrays > 0) held.push_back(std::move(holder));
  }
  return held;
}

}  // namespace

std::vector<HeldArrays> held_arrays(const Graph& graph, Mirror& memory, ProcessTypes& types, Paths& paths,
                                    PythonText& text) {
  std::vector<HeldArrays> held = by_holder(find_arrays(graph, memory), graph, types, paths, text);
  for (HeldArrays& each : by_holder(find_graphs(graph, memory), graph, types, paths, text)) {
    each.type = each.type.empty() ? "graph" : each.type + " of graphs";
    held.push_back(std::move(each));
  }
  std::ranges::stable_sort(held, std::greater(), &HeldArrays::bytes);
  if (held.size() > kMostHolders) held.resize(kMostHolders);
  return held;
}

}  // namespace dcmt::scan
