// The paths that hold storages as a tree: paths with the same beginning share a branch.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/model/holders_view.h"
#include "render/scene/holder_tree.h"

namespace dcmt::load {

/// The steps of a path from its root on. Joined, they are the path: "main", ".losses", "[*]", ".grad_fn PowBackward0",
/// " → AddmmBackward0", "._saved_mat1". Text in brackets, parentheses or quotes is not split.
[[nodiscard]] std::vector<std::string_view> steps_of_path(std::string_view path);

/// The tree of the first `most` paths. A branch without a fork is one node; containers are separate nodes.
[[nodiscard]] std::vector<scene::HolderNode> holder_tree(const model::HoldersView& view, std::size_t most);

}  // namespace dcmt::load
