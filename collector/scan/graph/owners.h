// Finds the holders of a storage, beyond the tensors and Python objects that are only handles of the same memory.
#pragma once

#include <vector>

#include "collector/scan/graph/graph.h"
#include "collector/scan/graph/roles.h"
#include "collector/scan/objects/python_text.h"

namespace dcmt::scan {

/// A reference that keeps a storage alive.
struct Owner {
  EdgeIndex edge = 0;               ///< from the holder to a tensor or its Python object
  std::vector<EdgeIndex> to_bytes;  ///< from there to the storage
  std::uint32_t cost = 0;           ///< of the whole path: a lower cost is more readable
};

struct StorageOwners {
  std::vector<Owner> owners;  ///< cheapest first
  /// The role of the tensors that lead to it, if they may cover all of it. A gradient that is a view of a large buffer
  /// does not make the buffer a gradient; and a batch that autograd has saved does not do so for the dataset.
  Role role = Role::kNone;
  /// Its Python tensors, then those whose gradients or optimizer states these are.
  std::vector<Address> tensors;
};

/// Not thread-safe; for one explored graph.
class Owners {
 public:
  Owners(const Graph& graph, Mirror& memory, ProcessTypes& types, PythonText& text, Paths& paths);

  /// The storages of the graph, in the order of discovery.
  [[nodiscard]] const std::vector<NodeIndex>& storages() const { return storages_; }
  [[nodiscard]] StorageOwners of(NodeIndex storage);

 private:
  /// The role of one tensor.
  struct TensorRole {
    Role role = Role::kNone;
    double most_bytes = 0;  ///< upper limit of the tensor's bytes, for any type of elements
  };
  /// State of the search from a storage to its owners.
  struct Search {
    std::vector<EdgeIndex> to_bytes;
    std::vector<NodeIndex> met;
    std::vector<TensorRole> tensors;
    std::vector<Address> subjects;  ///< see Roles::subject()
    StorageOwners result;
  };

  void follow(NodeIndex node, Search& search);
  /// The role that the reference gives to its target, a tensor or a storage. A tensor without memory of its own, such
  /// as a DTensor, gives its own role to the tensors inside.
  [[nodiscard]] Role role_by(const GraphEdge& edge);
  [[nodiscard]] Role role_of_outer(NodeIndex tensor, std::vector<NodeIndex>& met);
  /// True for a Python tensor whose storage has no memory.
  [[nodiscard]] bool is_outer(NodeIndex tensor);
  [[nodiscard]] bool is_parameter(NodeIndex tensor);
  /// True for the reference of a tensor's Python object to its C++ object, or back.
  [[nodiscard]] bool is_own(const GraphEdge& edge) const;
  [[nodiscard]] TensorRole without_role(NodeIndex tensor);
  [[nodiscard]] Role role_of(NodeIndex storage, const std::vector<TensorRole>& tensors);

  const Graph& graph_;
  Mirror& memory_;
  const TorchLayout& torch_;
  PythonText& text_;
  Roles roles_;
  std::vector<NodeIndex> storages_;
  /// Edges to each tensor, Python tensor or storage: those of node n are incoming_[first_[n]] to incoming_[first_[n +
  /// 1]].
  std::vector<EdgeIndex> incoming_;
  std::vector<std::uint32_t> first_;
  std::uint32_t as_tensor_ = 0;
};

}  // namespace dcmt::scan
