// The field of an autograd node that has saved a storage, from the paths that readings of the memory found.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace dcmt::analyzer {

struct SavedFieldName {
  std::string node, field;  ///< "AddmmBackward0", "mat1"; "saved_tensors" of a custom function
  friend auto operator<=>(const SavedFieldName&, const SavedFieldName&) = default;
};

/// The last field of a node on a path: "main: v.grad_fn NllLossBackward0 … 2 nodes → AddmmBackward0._saved_mat1".
/// nullopt if the path contains no such field.
[[nodiscard]] std::optional<SavedFieldName> saved_field_of(std::string_view path);

/// True if a path leads through an autograd graph.
[[nodiscard]] bool leads_through_a_graph(std::string_view path);

}  // namespace dcmt::analyzer
