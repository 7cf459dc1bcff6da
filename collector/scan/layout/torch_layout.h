// Offsets that a census needs in one build of torch. They come from torch's headers (scripts/layouts/torch_layout.py),
// so a layout file belongs to one minor version of torch, or to one build of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::scan {

/// A member of an autograd node that keeps tensors for the backward pass.
struct SavedMember {
  std::string name;         ///< as in Python, without the trailing underscore
  bool is_vector = false;   ///< std::vector<SavedVariable> instead of a single one
  std::int64_t offset = 0;  ///< bytes within the node
};

struct TorchLayout {
  std::string version;  ///< "2.11.0"

  std::int64_t tensor_storage = 0, tensor_autograd_meta = 0, tensor_python = 0, tensor_elements = 0;
  std::int64_t storage_data = 0, storage_bytes = 0, storage_python = 0;
  std::int64_t meta_grad = 0, meta_grad_fn = 0, meta_hooks = 0;
  std::int64_t view_backward = 0, view_forward = 0;
  std::int64_t edge_size = 0;
  std::int64_t node_size = 0, node_edges = 0, node_pre_hooks = 0, node_tensor_pre_hooks = 0, node_post_hooks = 0;
  std::int64_t saved_size = 0, saved_data = 0, saved_hooks = 0, saved_grad_fn = 0, saved_accumulator = 0;
  std::int64_t accumulate_variable = 0, copy_slices_fn = 0;
  std::int64_t python_node_context = 0;  ///< the Python object that a node of a custom Function owns
  std::int64_t packed_unpack_hook = 0, packed_data = 0, python_hook_dict = 0;
  std::int64_t python_tensor_cdata = 0, python_tensor_backward_hooks = 0, python_tensor_accumulate_hooks = 0;
  std::int64_t function_to_save = 0, function_non_differentiable = 0, function_dirty = 0, function_saved_variables = 0,
               function_saved_for_forward = 0;

  /// Generated node classes by their short names, such as "AddmmBackward0".
  std::map<std::string, std::vector<SavedMember>, std::less<>> nodes;
};

/// Fails with kBadInput if a line is invalid or a member is missing.
[[nodiscard]] Expected<TorchLayout> parse_torch_layout(std::string_view text);

/// The folders of layout files.
struct LayoutFolders {
  std::string shipped;   ///< "torch-2.11.layout" for each minor version: fields move only between minor versions
  std::string prepared;  ///< "BUILD_ID/torch.layout", made on this machine for exactly that build; may be empty
  [[nodiscard]] bool empty() const { return shipped.empty() && prepared.empty(); }
};

/// Reads the layout of the torch with this version ("2.11.0") and build id (may be empty): the prepared one, else the
/// shipped one. Fails with kCannotRecord and the remedy if there is none.
[[nodiscard]] Expected<TorchLayout> torch_layout(const LayoutFolders& folders, const std::string& version,
                                                 const std::string& build_id);

}  // namespace dcmt::scan
