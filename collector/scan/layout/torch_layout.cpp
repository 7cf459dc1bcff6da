#include "collector/scan/layout/torch_layout.h"

#include <fmt/format.h>

#include <optional>

#include "collector/scan/layout/layout_lines.h"
#include "trace/base/read_file.h"

namespace dcmt::scan {
namespace {

struct TorchField {
  std::string_view name;
  std::int64_t TorchLayout::*member;
};

constexpr TorchField kTorchFields[] = {
    {"TensorImpl.storage_", &TorchLayout::tensor_storage},
    {"TensorImpl.autograd_meta_", &TorchLayout::tensor_autograd_meta},
    {"TensorImpl.pyobj_slot_", &TorchLayout::tensor_python},
    {"TensorImpl.numel_", &TorchLayout::tensor_elements},
    {"StorageImpl.data_ptr_", &TorchLayout::storage_data},
    {"StorageImpl.size_bytes_", &TorchLayout::storage_bytes},
    {"StorageImpl.pyobj_slot_", &TorchLayout::storage_python},
    {"AutogradMeta.grad_", &TorchLayout::meta_grad},
    {"AutogradMeta.grad_fn_", &TorchLayout::meta_grad_fn},
    {"AutogradMeta.hooks_", &TorchLayout::meta_hooks},
    {"DifferentiableViewMeta.backward_info_", &TorchLayout::view_backward},
    {"DifferentiableViewMeta.forward_info_", &TorchLayout::view_forward},
    {"Edge.sizeof", &TorchLayout::edge_size},
    {"Node.sizeof", &TorchLayout::node_size},
    {"Node.next_edges_", &TorchLayout::node_edges},
    {"Node.pre_hooks_", &TorchLayout::node_pre_hooks},
    {"Node.tensor_pre_hooks_", &TorchLayout::node_tensor_pre_hooks},
    {"Node.post_hooks_", &TorchLayout::node_post_hooks},
    {"SavedVariable.sizeof", &TorchLayout::saved_size},
    {"SavedVariable.data_", &TorchLayout::saved_data},
    {"SavedVariable.hooks_", &TorchLayout::saved_hooks},
    {"SavedVariable.grad_fn_", &TorchLayout::saved_grad_fn},
    {"SavedVariable.grad_accumulator_", &TorchLayout::saved_accumulator},
    {"AccumulateGrad.variable", &TorchLayout::accumulate_variable},
    {"CopySlices.fn", &TorchLayout::copy_slices_fn},
    {"PySavedVariableHooks.unpack_hook_", &TorchLayout::packed_unpack_hook},
    {"PySavedVariableHooks.data_", &TorchLayout::packed_data},
    {"PyFunctionTensorPreHook.dict", &TorchLayout::python_hook_dict},
    {"THPVariable.cdata", &TorchLayout::python_tensor_cdata},
    {"THPVariable.backward_hooks", &TorchLayout::python_tensor_backward_hooks},
    {"THPVariable.post_accumulate_grad_hooks", &TorchLayout::python_tensor_accumulate_hooks},
    {"THPFunction.to_save", &TorchLayout::function_to_save},
    {"THPFunction.non_differentiable", &TorchLayout::function_non_differentiable},
    {"THPFunction.dirty_tensors", &TorchLayout::function_dirty},
    {"THPFunction.saved_variables", &TorchLayout::function_saved_variables},
    {"THPFunction.saved_for_forward", &TorchLayout::function_saved_for_forward},
};

Error bad(std::string_view what) { return {ErrorCode::kBadInput, fmt::format("layout of torch: {}", what)}; }

}  // namespace

Expected<TorchLayout> parse_torch_layout(std::string_view text) {
  TorchLayout layout;
  std::map<std::string_view, std::int64_t> values;
  while (!text.empty()) {
    const auto words = next_line_words(text);
    std::int64_t value = 0;
    if (words.empty()) continue;
    if (words.size() == 2 && words[0] == "version") {
      layout.version = words[1];
    } else if (words.size() == 2 && words[0] == "node") {
      layout.nodes[std::string(words[1])];
    } else if (words.size() == 5 && words[0] == "saved" && decimal(words[4], value)) {
      std::string_view name = words[2];
      if (name.ends_with('_')) name.remove_suffix(1);
      layout.nodes[std::string(words[1])].push_back({std::string(name), words[3] == "vector", value});
    } else if (words.size() == 2 && decimal(words[1], value)) {
      values[words[0]] = value;
    } else {
      return bad(fmt::format("'{}' begins no line of a layout", words[0]));
    }
  }
  for (const TorchField& field : kTorchFields) {
    const auto found = values.find(field.name);
    if (found == values.end()) return bad(fmt::format("{} is missing", field.name));
    layout.*field.member = found->second;
  }
  // Since torch 2.13 the slot of a Python object is one word; before, the interpreter came first.
  if (values["PyObjectSlot.sizeof"] == 16) {
    layout.tensor_python += 8;
    layout.storage_python += 8;
  }
  const auto context = values.find("PyNode.obj");
  layout.python_node_context = context != values.end() ? context->second : values["Node.pyobj_slot_"];
  if (layout.python_node_context == 0 || layout.version.empty()) return bad("PyNode.obj or the version is missing");
  return layout;
}

Expected<TorchLayout> torch_layout(const LayoutFolders& folders, const std::string& version,
                                   const std::string& build_id) {
  if (!folders.prepared.empty() && !build_id.empty()) {
    const auto text = read_file(fmt::format("{}/{}/torch.layout", folders.prepared, build_id));
    if (text) return parse_torch_layout(*text);
  }
  const std::string minor = version.substr(0, version.find('.', version.find('.') + 1));
  const std::string path = fmt::format("{}/torch-{}.layout", folders.shipped, minor);
  const std::optional<std::string> text = read_file(path);
  if (!text) {
    return Error{ErrorCode::kCannotRecord,
                 fmt::format("cannot inspect torch {}: {} is missing. Next, with the Python of this job: dc-memtrace "
                             "doctor --prepare --python PYTHON",
                             version, path)};
  }
  return parse_torch_layout(*text);
}

}  // namespace dcmt::scan
