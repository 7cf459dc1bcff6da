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

  /// The role of the target of `edge`. A parameter is recognized by its type, in the decoder of tensors.
  [[nodiscard]] Role of(const GraphEdge& edge);

 private:
  Role of_dict(NodeIndex dict);
  [[nodiscard]] Role find_of_dict(NodeIndex dict);

  const Graph& graph_;
  const Names& names_;
  Paths& paths_;
  const std::uint32_t gradient_;
  std::unordered_map<NodeIndex, Role> of_dicts_;
};

}  // namespace dcmt::scan
