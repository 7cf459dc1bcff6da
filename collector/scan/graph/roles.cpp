#include "collector/scan/graph/roles.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcmt::scan {
namespace {

/// True if a reference's label is this attribute: ".state", or "['state']" in the dictionary of attributes.
bool names(std::string_view label, std::string_view attribute) {
  if (label.starts_with(".")) return label.substr(1) == attribute;
  return label.size() == attribute.size() + 4 && label.substr(2, attribute.size()) == attribute;
}

}  // namespace

Roles::Roles(const Graph& graph, ProcessTypes& types, Paths& paths)
    : graph_(graph), types_(types), names_(types.names), paths_(paths), gradient_(types.names.number(".grad")) {}

Role Roles::of(const GraphEdge& edge) {
  const Kind source = graph_.nodes()[edge.source].kind;
  const bool in_dict = source == Kind::kDict && edge.label == Label::kDictValue;
  const bool in_list = (source == Kind::kList || source == Kind::kTuple) && edge.label == Label::kItem;
  if (in_dict || in_list) return of_container(edge.source);
  if (source == Kind::kCppClass || source == Kind::kCppContainer) {
    return types_.typed.shape_of(graph_.nodes()[edge.source].address, source).role;
  }
  if (edge.label != Label::kName) return Role::kNone;
  if (source == Kind::kTensor && edge.index == gradient_) return Role::kGradient;
  const bool of_graph = source == Kind::kNode || source == Kind::kPythonFunction;
  const std::string& label = names_.text(edge.index);
  return of_graph && (label.starts_with("._saved_") || label.starts_with(".saved_tensors")) ? Role::kSaved
                                                                                            : Role::kNone;
}

Address Roles::subject(const GraphEdge& edge) {
  const GraphNode& source = graph_.nodes()[edge.source];
  switch (of(edge)) {
    case Role::kGradient:
      for (EdgeIndex i = source.first_edge; i < source.end_edge; ++i) {
        const GraphNode& object = graph_.nodes()[graph_.edges()[i].target];
        if (object.kind == Kind::kPythonTensor) return object.address;
      }
      return 0;
    case Role::kOptimizerState:
      return states_.contains(edge.source) ? states_.at(edge.source) : 0;
    default:
      return 0;
  }
}

Role Roles::of_container(NodeIndex container) {
  const auto [role, fresh] = of_containers_.try_emplace(container, Role::kNone);
  if (!fresh) return role->second;
  find_states();
  if (states_.contains(container)) return role->second = Role::kOptimizerState;
  return role->second =
             graph_.nodes()[container].kind == Kind::kDict ? find_of_dict(container) : find_of_list(container);
}

void Roles::find_states() {
  if (std::exchange(has_states_, true)) return;
  // A tensor, or a list of them, for each parameter, or one for several, in a dictionary that an object keeps as its
  // state.
  for (const GraphEdge& entry : graph_.edges()) {
    const bool of_dict = entry.source != kRootNode && entry.label == Label::kDictValue &&
                         graph_.nodes()[entry.target].kind == Kind::kDict;
    if (!of_dict || !paths_.has_tensor_as_key(entry)) continue;
    const GraphEdge* outer = edge_to(entry.source);
    if (outer != nullptr && names(paths_.label_of(*outer), "state")) states_.try_emplace(entry.target, entry.index);
  }
  const std::vector<std::pair<NodeIndex, Address>> dicts(states_.begin(), states_.end());
  for (const auto& [dict, parameter] : dicts) {
    const GraphNode& node = graph_.nodes()[dict];
    for (EdgeIndex i = node.first_edge; i < node.end_edge; ++i) {
      const GraphEdge& value = graph_.edges()[i];
      const Kind kind = graph_.nodes()[value.target].kind;
      const bool is_list = kind == Kind::kList || kind == Kind::kTuple;
      if (value.label == Label::kDictValue && is_list) states_.try_emplace(value.target, parameter);
    }
  }
}

const GraphEdge* Roles::edge_to(NodeIndex node) const {
  if (!graph_.is_rooted(node)) return nullptr;
  const GraphEdge& edge = graph_.edges()[graph_.nodes()[node].best_edge];
  return edge.source != kRootNode ? &edge : nullptr;
}

Role Roles::find_of_dict(NodeIndex dict) {
  const GraphEdge* entry = edge_to(dict);
  if (entry == nullptr) return Role::kNone;
  const std::string label = paths_.label_of(*entry);
  if (names(label, "_parameters")) return Role::kParameter;
  return names(label, "_buffers") ? Role::kBuffer : Role::kNone;
}

Role Roles::find_of_list(NodeIndex list) {
  const GraphEdge* in_group = edge_to(list);
  if (in_group == nullptr || !names(paths_.label_of(*in_group), "params")) return Role::kNone;
  const GraphEdge* in_groups = edge_to(in_group->source);
  const GraphEdge* attribute = in_groups != nullptr ? edge_to(in_groups->source) : nullptr;
  return attribute != nullptr && names(paths_.label_of(*attribute), "param_groups") ? Role::kParameter : Role::kNone;
}

}  // namespace dcmt::scan
