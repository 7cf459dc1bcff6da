#include "collector/scan/graph/roles.h"

#include <string>
#include <string_view>

namespace dcmt::scan {
namespace {

/// True if a reference's label is this attribute: ".state", or "['state']" in the dictionary of attributes.
bool names(std::string_view label, std::string_view attribute) {
  if (label.starts_with(".")) return label.substr(1) == attribute;
  return label.size() == attribute.size() + 4 && label.substr(2, attribute.size()) == attribute;
}

}  // namespace

Roles::Roles(const Graph& graph, ProcessTypes& types, Paths& paths)
    : graph_(graph), names_(types.names), paths_(paths), gradient_(types.names.number(".grad")) {}

Role Roles::of(const GraphEdge& edge) {
  const Kind source = graph_.nodes()[edge.source].kind;
  if (source == Kind::kDict && edge.label == Label::kDictValue) return of_dict(edge.source);
  if (edge.label != Label::kName) return Role::kNone;
  if (source == Kind::kTensor && edge.index == gradient_) return Role::kGradient;
  const bool of_graph = source == Kind::kNode || source == Kind::kPythonFunction;
  const std::string& label = names_.text(edge.index);
  return of_graph && (label.starts_with("._saved_") || label.starts_with(".saved_tensors")) ? Role::kSaved
                                                                                            : Role::kNone;
}

Role Roles::of_dict(NodeIndex dict) {
  const auto [role, fresh] = of_dicts_.try_emplace(dict, Role::kNone);
  if (fresh) role->second = find_of_dict(dict);
  return role->second;
}

Role Roles::find_of_dict(NodeIndex dict) {
  if (!graph_.is_rooted(dict)) return Role::kNone;
  const GraphEdge& entry = graph_.edges()[graph_.nodes()[dict].best_edge];
  if (entry.source == kRootNode) return Role::kNone;
  const std::string label = paths_.label_of(entry);
  if (names(label, "_buffers")) return Role::kBuffer;
  // A tensor for each parameter, or one for several, in a dictionary that an object keeps as its state.
  const bool of_dict = graph_.nodes()[entry.source].kind == Kind::kDict && entry.label == Label::kDictValue;
  if (!of_dict || !graph_.is_rooted(entry.source) || !paths_.has_tensor_as_key(entry)) return Role::kNone;
  const GraphEdge& outer = graph_.edges()[graph_.nodes()[entry.source].best_edge];
  return outer.source != kRootNode && names(paths_.label_of(outer), "state") ? Role::kOptimizerState : Role::kNone;
}

}  // namespace dcmt::scan
