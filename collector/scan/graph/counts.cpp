#include "collector/scan/graph/counts.h"

namespace dcmt::scan {
namespace {

constexpr Address kIntrusiveCount = 8;  // in c10::intrusive_ptr_target; the low half counts strong references

/// Strong references to an autograd node. Until torch 2.14, a std::shared_ptr keeps the node: its counts are found by
/// the weak pointer to itself at the node's begin, from std::enable_shared_from_this. Later versions use
/// c10::intrusive_ptr.
std::uint64_t count_of_node(Mirror& memory, Address node) {
  constexpr Address kWeakThis = 8, kSharedCount = 8;
  if (memory.word(node + kWeakThis) != node) return memory.value<std::uint32_t>(node + kIntrusiveCount);
  const Address counts = memory.word(node + kWeakThis + 8);
  return counts == 0 ? 0 : memory.value<std::uint32_t>(counts + kSharedCount);
}

}  // namespace

Counts::Counts(const Graph& graph, Mirror& memory)
    : graph_(graph), memory_(memory), running_(graph.nodes().size()), found_(graph.nodes().size()) {
  for (const GraphEdge& edge : graph.edges()) {
    if (edge.source == kRootNode) running_[edge.target] = true;
  }
  for (const GraphEdge& edge : graph.edges()) {
    if (is_owned(edge)) ++found_[edge.target];
  }
}

bool Counts::is_owned(const GraphEdge& edge) const {
  // A guess may be a borrowed reference, and an operand of a running frame may be gone. A suspended one has its
  // operands.
  if (edge.source == kRootNode || edge.label == Label::kWord) return false;
  if (edge.label == Label::kOperand && running_[edge.source]) return false;
  const GraphNode& source = graph_.nodes()[edge.source];
  const Kind target = graph_.nodes()[edge.target].kind;
  const bool as_python_object = (source.kind == Kind::kTensor && target == Kind::kPythonTensor) ||
                                (source.kind == Kind::kStorage && target == Kind::kPythonStorage);
  // A tensor keeps its Python object as long as something else keeps the tensor.
  return !as_python_object || count_of(source) > 1;
}

std::uint64_t Counts::count_of(const GraphNode& object) const {
  switch (object.kind) {
    case Kind::kTensor:
    case Kind::kStorage:
      return memory_.value<std::uint32_t>(object.address + kIntrusiveCount);
    case Kind::kNode:
      return count_of_node(memory_, object.address);
    default:
      return memory_.value<std::uint32_t>(object.address);  // since 3.14, flags follow
  }
}

bool Counts::all_found(NodeIndex node) const {
  const GraphNode& object = graph_.nodes()[node];
  // An interpreter's frame has no count: it ends with the call. Nor have objects of C++.
  const bool has_no_count =
      object.kind == Kind::kFrame || object.kind == Kind::kCppClass || object.kind == Kind::kCppContainer;
  return has_no_count || count_of(object) == found_[node];
}

}  // namespace dcmt::scan
