#include "collector/scan/graph/owners.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dcmt::scan {
namespace {

constexpr double kLargestElement = 16;  ///< bytes of a complex128

bool is_handle(Kind kind) {
  return kind == Kind::kTensor || kind == Kind::kPythonTensor || kind == Kind::kStorage || kind == Kind::kPythonStorage;
}

/// True for a tensor or storage in Python and its counterpart in C++, and for a tensor and its storage.
bool are_handles_of_same_memory(Kind source, Kind target) {
  if (source == Kind::kTensor || source == Kind::kPythonStorage) return target == Kind::kStorage;
  return (source == Kind::kPythonTensor && target == Kind::kTensor) ||
         (source == Kind::kStorage && target == Kind::kPythonStorage);
}

}  // namespace

Owners::Owners(const Graph& graph, Mirror& memory, ProcessTypes& types, PythonText& text, Paths& paths)
    : graph_(graph),
      memory_(memory),
      torch_(types.torch),
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

Owners::TensorRole Owners::without_role(NodeIndex tensor) {
  const auto elements = memory_.value<std::int64_t>(graph_.nodes()[tensor].address + torch_.tensor_elements);
  return {.most_bytes = kLargestElement * static_cast<double>(elements)};
}

Role Owners::role_of(NodeIndex storage, const std::vector<TensorRole>& tensors) {
  const auto bytes = memory_.value<std::int64_t>(graph_.nodes()[storage].address + torch_.storage_bytes);
  for (const Role role : {Role::kParameter, Role::kGradient, Role::kOptimizerState, Role::kBuffer, Role::kSaved}) {
    double most_bytes = 0;
    bool some = false;
    for (const TensorRole& tensor : tensors) {
      if (tensor.role < role) continue;
      most_bytes += tensor.most_bytes;
      some = some || tensor.role == role;
    }
    if (some && most_bytes >= static_cast<double>(bytes)) return role;
  }
  return Role::kNone;
}

StorageOwners Owners::of(NodeIndex storage) {
  Search search;
  search.tensors.push_back({.most_bytes = std::numeric_limits<double>::max()});  // for references to the storage itself
  follow(storage, search);
  search.result.role = role_of(storage, search.tensors);
  std::ranges::stable_sort(search.result.owners, {}, &Owner::cost);
  return std::move(search.result);
}

void Owners::follow(NodeIndex node, Search& search) {
  if (std::ranges::find(search.met, node) != search.met.end()) return;
  search.met.push_back(node);
  const Kind kind = graph_.nodes()[node].kind;
  if (kind == Kind::kTensor) search.tensors.push_back(without_role(node));
  const std::size_t tensor = kind == Kind::kTensor || kind == Kind::kPythonTensor ? search.tensors.size() - 1 : 0;
  for (std::uint32_t i = first_[node]; i < first_[node + 1]; ++i) {
    const EdgeIndex number = incoming_[i];
    const GraphEdge& edge = graph_.edges()[number];
    if (edge.source == kRootNode && graph_.root(edge.index).name.empty()) continue;  // alive, without a name
    const GraphNode& source = graph_.nodes()[edge.source];
    const bool own_object = edge.label == Label::kName && edge.index == as_tensor_;
    Role& role = search.tensors[tensor].role;
    if (!own_object && !are_handles_of_same_memory(source.kind, kind)) {
      role = std::max(role, roles_.of(edge));
      search.result.owners.push_back(
          {number, {search.to_bytes.rbegin(), search.to_bytes.rend()}, std::uint32_t{source.cost} + edge.cost});
      continue;
    }
    if (source.kind == Kind::kPythonTensor && text_.type_name(source.address, source.kind) == "Parameter") {
      role = Role::kParameter;
    }
    search.to_bytes.push_back(number);
    follow(edge.source, search);
    search.to_bytes.pop_back();
  }
}

}  // namespace dcmt::scan
