// The role of a storage in a module, an optimizer or a graph, by the reference that leads to it.
#pragma once

#include <unordered_map>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"

namespace dcmt::scan {

/// Not thread-safe; for one explored graph.
class Roles {
 public:
  Roles(const Graph& graph, ProcessTypes& types, Paths& paths);

  /// The role of the target of `edge`. A parameter in a module has a type of its own as well, which Owners recognizes.
  [[nodiscard]] Role of(const GraphEdge& edge);
  /// The Python tensor whose gradient or optimizer state the reference leads to; 0 for another role.
  [[nodiscard]] Address subject(const GraphEdge& edge);

 private:
  Role of_container(NodeIndex container);
  /// Finds the state of each parameter, which is a variable of a running step, too, and so may have another best path.
  void find_states();
  [[nodiscard]] Role find_of_dict(NodeIndex dict);
  /// What an optimizer updates is a parameter: optimizer.param_groups[0]['params'][0].
  [[nodiscard]] Role find_of_list(NodeIndex list);
  /// The last edge of the path to a node with a name; nullptr: the node is a root, or has no path.
  [[nodiscard]] const GraphEdge* edge_to(NodeIndex node) const;

  const Graph& graph_;
  ProcessTypes& types_;
  const Names& names_;
  Paths& paths_;
  const std::uint32_t gradient_;
  std::unordered_map<NodeIndex, Role> of_containers_;
  std::unordered_map<NodeIndex, Address> states_;  ///< dictionaries and lists of an optimizer, with their parameters
  bool has_states_ = false;
};

}  // namespace dcmt::scan
