// Names of torch.nn.Modules, and the modules that have parameters and buffers.
#pragma once

#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

struct NamedModule {
  Address address = 0;
  std::string name;  ///< "model.layers.3.mlp": the variable of the outermost module, then as named_modules() has it
};

/// The modules at the given addresses, and all modules inside them. For one explored graph.
class Modules {
 public:
  Modules(const Graph& graph, Paths& paths, PythonText& text, const std::vector<Address>& addresses);

  [[nodiscard]] const std::vector<NamedModule>& named() const { return named_; }
  /// The module that has the first of these Python tensors that is a parameter or a buffer; 0: none has one.
  [[nodiscard]] Address having(std::span<const Address> tensors) const;

 private:
  using Entries = std::vector<std::pair<std::string, const GraphNode*>>;  ///< of a dictionary with texts as keys

  using Dictionaries = std::array<const GraphNode*, 3>;  ///< of parameters, of buffers, of modules

  [[nodiscard]] std::vector<NodeIndex> with_outer(const std::vector<Address>& addresses);
  [[nodiscard]] NodeIndex owner_of(NodeIndex dict);
  [[nodiscard]] Dictionaries dictionaries_of(const GraphNode& module);
  [[nodiscard]] Entries entries(const GraphNode* dict);
  [[nodiscard]] std::string variable_of(const GraphNode& module);

  const Graph& graph_;
  Paths& paths_;
  PythonText& text_;
  std::unordered_map<NodeIndex, NodeIndex> owners_;  ///< of dictionaries
  std::vector<NamedModule> named_;
  std::unordered_map<Address, Address> by_tensor_;  ///< module by Python tensor
};

}  // namespace dcmt::scan
