#include "collector/scan/objects/torch_objects.h"

#include <string>

#include "collector/scan/objects/torch_layouts.h"

namespace dcmt::scan {
namespace {

constexpr Address kReferenceWord = 8;  // intrusive_ptr_target: counts, with the Python bit in the highest bit
constexpr unsigned kHasPythonObject = 63;
constexpr Address kLongestVector = 1 << 22;  // bytes
/// In an unknown node class, this many bytes after torch::autograd::Node are searched.
constexpr Address kLargestNode = 4096;

// libstdc++'s std::vector: begin and end.
struct Span {
  Address begin;
  Address end;
};

Span vector_of(Mirror& memory, Address vector) {
  const Span span{memory.word(vector), memory.word(vector + 8)};
  if (span.end < span.begin || span.end - span.begin > kLongestVector) return {0, 0};
  return span;
}

}  // namespace

void TorchObjects::decode_tensor(Address tensor) {
  found_.cpp(memory_.word(tensor + torch_.tensor_storage), " (storage)", 0);
  const Address meta = memory_.word(tensor + torch_.tensor_autograd_meta);
  if (const CppType* type = meta == 0 ? nullptr : types_.cpp_types.type_of(memory_, meta)) {
    found_.cpp(memory_.word(meta + torch_.meta_grad), ".grad");
    found_.cpp(memory_.word(meta + torch_.meta_grad_fn), ".grad_fn");
    python_hooks(meta + torch_.meta_hooks, "._backward_hooks");
    cpp_hooks(meta + torch_.meta_hooks);
    if (type->short_name == "DifferentiableViewMeta") {
      view_base(meta + torch_.view_backward);
      view_base(meta + torch_.view_forward);
    }
  }
  if (owns_python_object(tensor)) {
    found_.python(memory_.word(tensor + torch_.tensor_python), " (as tensor)", 0);
  }
}

/// Since torch 2.10, a tensor or storage owns its Python object while the highest bit of the counts is set.
bool TorchObjects::owns_python_object(Address object) {
  return (memory_.word(object + kReferenceWord) >> kHasPythonObject) != 0;
}

void TorchObjects::decode_storage(Address storage) {
  if (!owns_python_object(storage)) return;
  // Another object may be at the address of an object that is gone.
  const Address object = memory_.word(storage + torch_.storage_python);
  const PythonType* type = types_.python_types.type_of(memory_, object);
  if (type != nullptr && type->kind == Kind::kPythonStorage) found_.python(object, " (as storage)", 0);
}

void TorchObjects::decode_python_storage(Address object) {
  constexpr Address kFirstMember = 16;
  const auto is_storage = [&](Address address) {
    const CppType* type = address == 0 ? nullptr : types_.cpp_types.type_of(memory_, address);
    return type != nullptr && type->kind == Kind::kStorage;
  };
  const Address storage = memory_.word(object + kFirstMember);
  if (is_storage(storage)) return found_.cpp(storage, " (storage)", 0);
  // In older versions the member is a c10::MaybeOwned<c10::Storage>: first a flag that says whether it is borrowed.
  const bool is_borrowed = memory_.value<std::uint8_t>(object + kFirstMember) != 0;
  const Address maybe_owned = memory_.word(object + kFirstMember + sizeof(Address));
  if (!is_borrowed && is_storage(maybe_owned)) found_.cpp(maybe_owned, " (storage)", 0);
}

void TorchObjects::view_base(Address info) {
  // A std::optional: its value, then a flag. The memory of an empty one can have an old value.
  const std::int64_t size = torch_.view_forward - torch_.view_backward;
  const bool has_value = memory_.value<std::uint8_t>(info + static_cast<Address>(size) - sizeof(Address)) == 1;
  if (has_value) found_.cpp(memory_.word(info), "._base");
}

void TorchObjects::decode_node(Address node) {
  const CppType* type = types_.cpp_types.type_of(memory_, node);
  if (type == nullptr) return;
  const Span edges = vector_of(memory_, node + torch_.node_edges);
  std::uint32_t number = 0;
  for (Address edge = edges.begin; edge < edges.end; edge += torch_.edge_size, ++number) {
    const Address next = memory_.word(edge);
    if (next != 0 && types_.cpp_types.type_of(memory_, next) == nullptr) return found_.torn();
    found_.cpp(next, ".next_functions[" + std::to_string(number) + "]");
  }
  python_hooks(node + torch_.node_pre_hooks, " pre-hooks");
  python_hooks(node + torch_.node_tensor_pre_hooks, " tensor pre-hooks");
  python_hooks(node + torch_.node_post_hooks, " post-hooks");
  if (type->short_name == "AccumulateGrad") {
    found_.cpp(memory_.word(node + torch_.accumulate_variable), ".variable");
  } else if (type->short_name == "PyNode") {
    found_.python(memory_.word(node + torch_.python_node_context), " (ctx)");
  } else if (type->short_name == "CopySlices") {
    found_.cpp(memory_.word(node + torch_.copy_slices_fn), ".fn");
  } else if (type->name.starts_with("torch::autograd::CppNode<")) {
    saved_by_function(node + static_cast<Address>(torch_.node_size));
  } else if (type->saved != nullptr) {
    for (const SavedMember& member : *type->saved) {
      if (member.is_vector) {
        saved_vector(node + member.offset, "._saved_" + member.name);
      } else {
        saved_variable(node + member.offset, "._saved_" + member.name);
      }
    }
  } else {
    // A node of an extension: read its words up to the end of its malloc chunk, whose size precedes it.
    const Address chunk = memory_.word(node - 8) & ~Address{7};
    for (Address offset = torch_.node_size; offset + 16 <= chunk && offset < kLargestNode; offset += 8) {
      found_.cpp(memory_.word(node + offset), Label::kWord, static_cast<std::uint32_t>(offset), 3);
    }
  }
}

void TorchObjects::decode_python_tensor(Address object) {
  found_.cpp(memory_.word(object + torch_.python_tensor_cdata), "", 0);
  found_.python(memory_.word(object + torch_.python_tensor_backward_hooks), "._backward_hooks");
  found_.python(memory_.word(object + torch_.python_tensor_accumulate_hooks), "._post_accumulate_grad_hooks");
}

void TorchObjects::decode_python_function(Address object) {
  found_.python(memory_.word(object + torch_.function_to_save), ".to_save");
  found_.python(memory_.word(object + torch_.function_non_differentiable), ".non_differentiable");
  found_.python(memory_.word(object + torch_.function_dirty), ".dirty_tensors");
  found_.python(memory_.word(object + torch_.function_saved_for_forward), ".saved_for_forward");
  saved_vector(object + torch_.function_saved_variables, ".saved_tensors");
}

void TorchObjects::decode_dlpack(Address managed) {
  // at::toDLPack allocates the tensor together with the struct that it returns; the tensor comes first.
  found_.cpp(memory_.word(managed - sizeof(Address)), " (DLPack)");
}

/// What a custom function of C++ has saved in its AutogradContext: saved_data, which is a ska::flat_hash_map of
/// std::string and IValue, two std::unordered_set, then saved_variables_.
void TorchObjects::saved_by_function(Address context) {
  constexpr Address kLastSlot = 8, kProbes = 17, kVariables = 144;
  constexpr Address kSlot = 56, kKey = 8, kValue = 40;
  constexpr std::uint64_t kMostSlots = 1024, kLongestKey = 64;
  const FlatHashMap map{memory_.word(context), memory_.word(context + kLastSlot),
                        memory_.value<std::int8_t>(context + kProbes), kSlot};
  const bool is_map = map.each(memory_, kMostSlots, [&](Address slot, std::uint64_t) {
    const Address tensor = tensor_of_value(memory_, slot + kValue);
    if (tensor == 0) return;
    const std::uint64_t length = memory_.word(slot + kKey + sizeof(Address));
    const std::byte* const text = length < kLongestKey ? memory_.at(memory_.word(slot + kKey), length) : nullptr;
    const std::string key = text == nullptr ? "?" : std::string(reinterpret_cast<const char*>(text), length);
    found_.cpp(tensor, "._saved_data['" + key + "']");
  });
  if (!is_map) return found_.torn();
  saved_vector(context + kVariables, "._saved_variables");
}

void TorchObjects::saved_vector(Address vector, const std::string& name) {
  const Span all = vector_of(memory_, vector);
  std::uint32_t number = 0;
  for (Address saved = all.begin; saved < all.end; saved += torch_.saved_size, ++number) {
    saved_variable(saved, name + "[" + std::to_string(number) + "]");
  }
}

void TorchObjects::saved_variable(Address saved, const std::string& name) {
  found_.cpp(memory_.word(saved + torch_.saved_data), name);
  if (const Address hooks = memory_.word(saved + torch_.saved_hooks); hooks != 0) {
    found_.python(memory_.word(hooks + torch_.packed_data), name + " (packed by hook)");
    found_.python(memory_.word(hooks + torch_.packed_unpack_hook), name + " (unpack hook)", 3);
  }
  found_.cpp(memory_.word(saved + torch_.saved_grad_fn), name + ".grad_fn");
  found_.cpp(memory_.word(saved + torch_.saved_accumulator), name + ".grad_accumulator");
}

/// Those of Tensor::register_hook: a std::shared_ptr to a list of them comes after the hooks that call it.
void TorchObjects::cpp_hooks(Address hooks) {
  constexpr Address kList = 24;
  const Address list = memory_.word(hooks + kList);
  const bool is_list = can_be_object(list) && memory_.word(hooks) != memory_.word(hooks + sizeof(Address));
  if (!is_list || !types_.typed.add_hooks(list)) return;
  found_.typed(list, Kind::kCppContainer, Label::kName, types_.names.number("._hooks"), 1);
}

void TorchObjects::python_hooks(Address vector, const char* name) {
  const Span hooks = vector_of(memory_, vector);
  for (Address slot = hooks.begin; slot < hooks.end; slot += 8) {
    const Address hook = memory_.word(slot);
    const CppType* type = types_.cpp_types.type_of(memory_, hook);
    if (type == nullptr || type->name.find("PyFunction") == std::string::npos) continue;
    found_.python(memory_.word(hook + torch_.python_hook_dict), name);
  }
}

}  // namespace dcmt::scan
