#include "collector/torch/facts/self_check.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include "collector/agent/remedy.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/facts/layout.h"

namespace dcmt::torch_provider {
namespace {

char g_message[512];

const char* wrong(const char* what) {
  snprintf(
      g_message, sizeof g_message,
      "torch's %s differ from torch %s, for which this provider was built: nothing is recorded in this process. %s",
      what, TORCH_VERSION, agent::kPrepareProvider);
  return g_message;
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// Writes an address to the field of an object's Python object, and removes it again: no other thread has the object
/// yet.
bool shows_py_object(const void* object, c10::impl::PyObjectSlot* slot, std::size_t field) {
  static char planted;
  slot->pyobj_.store(reinterpret_cast<PyObject*>(&planted));
  const bool shown = layout::word(object, field) == address(&planted);
  slot->pyobj_.store(nullptr);
  return shown && layout::word(object, field) == 0;
}

}  // namespace

const char* wrong_fields(const Fields& fields) {
  using layout::word;
  // Objects made by torch's library and by its headers.
  const at::Tensor tensor = at::empty({3, 5}, at::kFloat);
  const at::Tensor again = tensor;
  const at::Tensor view = tensor.select(0, 1);
  const at::Tensor other = at::empty({1}, at::kBFloat16);
  const at::Tensor meta = at::empty({1}, at::TensorOptions().device(at::kMeta));
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::TensorImpl* viewed = view.unsafeGetTensorImpl();
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  // A storage's device field can be checked without GPU memory.
  const c10::StorageImpl elsewhere(c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, {at::kCUDA, 3}),
                                   nullptr, false);

  if (word(impl, fields.tensor_storage) != address(storage) ||
      word(viewed, fields.tensor_storage) != address(storage)) {
    return "tensor objects";
  }
  const auto count_of = [&](const void* object) { return word(object, fields.count) & 0xffffffffu; };
  // `again` and the view's base are the second and the third reference.
  if (count_of(impl) != 3 || count_of(impl) != tensor.use_count() || count_of(storage) != 2 ||
      count_of(storage) != tensor.storage().use_count()) {
    return "reference counts";
  }
  const auto device_of = [&](const void* object) { return word(object, fields.storage_device) & 0xffff; };
  if (word(storage, fields.storage_data) != address(storage->data()) || word(storage, fields.storage_data) == 0 ||
      word(storage, fields.storage_bytes) != 60 || storage->nbytes() != 60 ||
      device_of(&elsewhere) != (3u << 8 | static_cast<unsigned>(at::kCUDA)) ||
      (device_of(meta.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()) & 0xff) !=
          static_cast<unsigned>(at::kMeta)) {
    return "storage objects";
  }
  if (word(viewed, fields.tensor_offset) != 5 || word(viewed, fields.tensor_elements) != 5 ||
      word(impl, fields.tensor_offset) != 0 || word(impl, fields.tensor_elements) != 15) {
    return "tensor shapes";
  }
  const auto dtype_of = [&](const at::Tensor& of) {
    return word(of.unsafeGetTensorImpl(), fields.tensor_dtype) & 0xffff;
  };
  if (dtype_of(tensor) != static_cast<unsigned>(at::kFloat) ||
      dtype_of(other) != static_cast<unsigned>(at::kBFloat16)) {
    return "types of elements";
  }
  if (!shows_py_object(impl, impl->pyobj_slot(), fields.tensor_py_object) ||
      !shows_py_object(storage, storage->pyobj_slot(), fields.storage_py_object)) {
    return "Python object slots";
  }
  // The data that a view keeps for autograd.
  const auto* autograd = torch::autograd::impl::get_view_autograd_meta(view);
  if (autograd == nullptr || !autograd->has_bw_view() ||
      autograd->get_backward_view().base_.unsafeGetTensorImpl() != impl ||
      word(viewed, fields.tensor_autograd) != address(autograd) || word(autograd, fields.view_base) != address(impl) ||
      reinterpret_cast<const char*>(autograd)[fields.view_has_base] != 1) {
    return "views";
  }
  return nullptr;
}

const char* self_check() {
  Fields fields;
  // For tests: simulates a field with an unexpected offset.
  if (const char* forced = getenv("DC_MEMTRACE_TEST_SELF_CHECK"); forced != nullptr && strcmp(forced, "fail") == 0) {
    fields.tensor_offset += sizeof(void*);
  }
  if (const char* what = wrong_fields(fields); what != nullptr) return wrong(what);
  const at::Tensor tensor = at::empty({1}, at::kFloat);
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  // Virtual tables: the slots to hook must contain the expected functions.
  void* c10 = elf::loaded_library("libc10.so");
  if (c10 == nullptr) return wrong("libraries");
  void* const* table = static_cast<void* const*>(elf::symbol_in_use(c10, "_ZTVN3c1010TensorImplE"));
  void* const* storage_table = static_cast<void* const*>(elf::symbol_in_use(c10, "_ZTVN3c1011StorageImplE"));
  if (table == nullptr || layout::word(impl, 0) != address(table + layout::kTableFunctions) ||
      storage_table == nullptr || layout::word(storage, 0) != address(storage_table + layout::kTableFunctions) ||
      table[layout::kTensorSlotRelease] != dlsym(c10, "_ZN3c1010TensorImpl17release_resourcesEv")) {
    return wrong("virtual tables");
  }
  // The other slots have no symbol: a test call verifies them (rehearsal.h).
  constexpr char kDetach[] = "_ZNK3c1010TensorImpl23shallow_copy_and_detachERKNS_15VariableVersionEb";
  constexpr char kDetachMove[] = "_ZNK3c1010TensorImpl23shallow_copy_and_detachEONS_15VariableVersionEb";
  if (table[layout::kTensorSlotDetach] != dlsym(c10, kDetach) ||
      table[layout::kTensorSlotDetachMove] != dlsym(c10, kDetachMove)) {
    return wrong("virtual tables");
  }
  return nullptr;
}

}  // namespace dcmt::torch_provider
