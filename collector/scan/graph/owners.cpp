#include "collector/scan/graph/owners.h"

#include <algorithm>
#include <iterator>
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
  for (const NodeIndex node : search.met) {
    const GraphNode& handle = graph_.nodes()[node];
    if (handle.kind == Kind::kPythonTensor) search.result.tensors.push_back(handle.address);
  }
  std::ranges::copy(search.subjects, std::back_inserter(search.result.tensors));
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
    Role& role = search.tensors[tensor].role;
    if (!is_own(edge)) {
      role = std::max(role, role_by(edge));
      const Address subject = is_outer(edge.source) ? source.address : roles_.subject(edge);
      if (subject != 0) search.subjects.push_back(subject);
      search.result.owners.push_back(
          {number, {search.to_bytes.rbegin(), search.to_bytes.rend()}, std::uint32_t{source.cost} + edge.cost});
      continue;
    }
    if (is_parameter(edge.source)) role = Role::kParameter;
    search.to_bytes.push_back(number);
    follow(edge.source, search);
    search.to_bytes.pop_back();
  }
}

bool Owners::is_own(const GraphEdge& edge) const {
  return (edge.label == Label::kName && edge.index == as_tensor_) ||
         are_handles_of_same_memory(graph_.nodes()[edge.source].kind, graph_.nodes()[edge.target].kind);
}

bool Owners::is_parameter(NodeIndex tensor) {
  const GraphNode& node = graph_.nodes()[tensor];
  return node.kind == Kind::kPythonTensor && text_.type_name(node.address, node.kind) == "Parameter";
}

bool Owners::is_outer(NodeIndex tensor) {
  const GraphNode& node = graph_.nodes()[tensor];
  if (node.kind != Kind::kPythonTensor) return false;
  const Address in_cpp = memory_.word(node.address + torch_.python_tensor_cdata);
  const Address storage = in_cpp != 0 ? memory_.word(in_cpp + torch_.tensor_storage) : 0;
  return storage == 0 || memory_.word(storage + torch_.storage_data) == 0;
}

Role Owners::role_by(const GraphEdge& edge) {
  if (!is_outer(edge.source)) return roles_.of(edge);
  std::vector<NodeIndex> met;
  return role_of_outer(edge.source, met);
}

Role Owners::role_of_outer(NodeIndex tensor, std::vector<NodeIndex>& met) {
  if (std::ranges::find(met, tensor) != met.end()) return Role::kNone;
  met.push_back(tensor);
  Role role = is_parameter(tensor) ? Role::kParameter : Role::kNone;
  for (std::uint32_t i = first_[tensor]; i < first_[tensor + 1]; ++i) {
    const GraphEdge& edge = graph_.edges()[incoming_[i]];
    if (edge.source == kRootNode) continue;
    const bool is_handle_or_outer = is_own(edge) || is_outer(edge.source);
    role = std::max(role, is_handle_or_outer ? role_of_outer(edge.source, met) : roles_.of(edge));
  }
  return role;
}

}  // namespace dcmt::scan
