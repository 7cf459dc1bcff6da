#include "collector/scan/graph/owners.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

bool is_handle(Kind kind) {
  return kind == Kind::kTensor || kind == Kind::kPythonTensor || kind == Kind::kStorage || kind == Kind::kPythonStorage;
}

/// Whether these are a tensor or storage in Python and the same one in C++, or a tensor and its storage.
bool are_handles_of_same_memory(Kind source, Kind target) {
  if (source == Kind::kTensor || source == Kind::kPythonStorage) return target == Kind::kStorage;
  return (source == Kind::kPythonTensor && target == Kind::kTensor) ||
         (source == Kind::kStorage && target == Kind::kPythonStorage);
}

}  // namespace

Owners::Owners(const Graph& graph, ProcessTypes& types, PythonText& text, Paths& paths)
    : graph_(graph),
      text_(text),
      roles_(graph, types, paths),
      first_(graph.nodes().size() + 1),
      as_tensor_(types.names.number(" (as tensor)")) {
  const auto leads_to_handle = [&](const GraphEdge& edge) { return is_handle(graph_.nodes()[edge.target].kind); };
  for (const GraphEdge& edge : graph_.edges()) {
    if (leads_to_handle(edge)) ++first_[edge.target + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  incoming_.resize(first_.back());
  std::vector<std::uint32_t> next = first_;
  for (EdgeIndex i = 0; i < graph_.edges().size(); ++i) {
    const GraphEdge& edge = graph_.edges()[i];
    if (leads_to_handle(edge)) incoming_[next[edge.target]++] = i;
  }
  for (NodeIndex i = 1; i < graph_.nodes().size(); ++i) {
    if (graph_.nodes()[i].kind == Kind::kStorage) storages_.push_back(i);
  }
}

StorageOwners Owners::of(NodeIndex storage) {
  StorageOwners result;
  std::vector<EdgeIndex> to_bytes;
  std::vector<NodeIndex> met;
  follow(storage, to_bytes, met, result);
  std::ranges::stable_sort(result.owners, {}, &Owner::cost);
  return result;
}

void Owners::follow(NodeIndex node, std::vector<EdgeIndex>& to_bytes, std::vector<NodeIndex>& met,
                    StorageOwners& result) {
  if (std::ranges::find(met, node) != met.end()) return;
  met.push_back(node);
  const Kind kind = graph_.nodes()[node].kind;
  for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
    const EdgeIndex number = incoming_[i];
    const GraphEdge& edge = graph_.edges()[number];
    if (edge.source == kRootNode && graph_.root(edge.index).name.empty()) continue;  // only known to be alive
    const GraphNode& source = graph_.nodes()[edge.source];
    const bool own_object = edge.label == Label::kName && edge.index == as_tensor_;
    if (!own_object && !are_handles_of_same_memory(source.kind, kind)) {
      result.role = std::max(result.role, roles_.of(edge));
      result.owners.push_back({number, {to_bytes.rbegin(), to_bytes.rend()}, std::uint32_t{source.cost} + edge.cost});
      continue;
    }
    if (source.kind == Kind::kPythonTensor && text_.type_name(source.address, source.kind) == "Parameter") {
      result.role = Role::kParameter;
    }
    to_bytes.push_back(number);
    follow(edge.source, to_bytes, met, result);
    to_bytes.pop_back();
  }
}

}  // namespace dcmt::scan
