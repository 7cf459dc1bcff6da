// What a storage is to a module, an optimizer or a graph, by the reference that leads to it.
#pragma once

#include <unordered_map>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"

namespace dcmt::scan {

/// Not thread-safe; made for one explored graph.
class Roles {
 public:
  Roles(const Graph& graph, ProcessTypes& types, Paths& paths);

  /// Of what `edge` leads to. A parameter is recognized by its type, which the decoder of tensors does.
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
