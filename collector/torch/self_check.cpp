#include "collector/torch/self_check.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include "collector/elf/elf_patch.h"
#include "collector/torch/layout.h"

namespace dcmt::torch_provider {
namespace {

char g_message[512];

const char* wrong(const char* what) {
  snprintf(g_message, sizeof g_message,
           "torch's %s differ from torch %s, for which this provider was built: nothing is recorded in this process. "
           "Rebuild dc-memtrace against the torch in use (DCMT_PYTHON names its Python).",
           what, TORCH_VERSION);
  return g_message;
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

const char* self_check() {
  // For tests: a torch that fails the check.
  if (const char* forced = getenv("DC_MEMTRACE_TEST_SELF_CHECK"); forced != nullptr && strcmp(forced, "fail") == 0) {
    return wrong("object layouts (simulated)");
  }
  const at::Tensor tensor = at::empty({3, 5}, at::kFloat);
  const at::Tensor view = tensor.select(0, 1);
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();

  if (layout::storage_of(impl) != storage || layout::storage_of(view.unsafeGetTensorImpl()) != storage) {
    return wrong("tensor objects");
  }
  if (layout::strong_count(impl) != tensor.use_count() ||
      layout::strong_count(storage) != tensor.storage().use_count() || layout::strong_count(storage) != 2) {
    return wrong("reference counts");
  }
  if (layout::data_of(storage) != address(storage->data()) || layout::bytes_of(storage) != storage->nbytes() ||
      layout::bytes_of(storage) != 60 || layout::is_on_gpu(storage)) {
    return wrong("storage objects");
  }
  // No memory of a GPU is needed to see where a storage keeps its device.
  const c10::StorageImpl elsewhere(c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, {at::kCUDA, 3}),
                                   nullptr, false);
  if (!layout::is_on_gpu(&elsewhere) || layout::device_index_of(&elsewhere) != 3) return wrong("storage objects");
  const c10::TensorImpl* viewed = view.unsafeGetTensorImpl();
  if (layout::word(viewed, layout::kTensorOffset) != 5 || layout::word(viewed, layout::kTensorElements) != 5 ||
      layout::word(impl, layout::kTensorOffset) != 0 || layout::word(impl, layout::kTensorElements) != 15) {
    return wrong("tensor shapes");
  }
  const at::Tensor other = at::empty({1}, at::kBFloat16);
  if (layout::dtype_of(impl) != static_cast<std::uint32_t>(at::kFloat) ||
      layout::dtype_of(other.unsafeGetTensorImpl()) != static_cast<std::uint32_t>(at::kBFloat16)) {
    return wrong("types of elements");
  }
  if (layout::word(impl, layout::kTensorPyObject) != 0 || layout::word(storage, layout::kStoragePyObject) != 0) {
    return wrong("Python object slots");
  }
  // What a view keeps for autograd.
  const auto* autograd = torch::autograd::impl::get_view_autograd_meta(view);
  if (autograd == nullptr || !autograd->has_bw_view() ||
      autograd->get_backward_view().base_.unsafeGetTensorImpl() != impl ||
      layout::word(viewed, layout::kTensorAutograd) != address(autograd) ||
      layout::word(autograd, layout::kViewBase) != address(impl) ||
      reinterpret_cast<const char*>(autograd)[layout::kViewHasBase] != 1) {
    return wrong("views");
  }
  // Virtual tables: the slots that are hooked must hold the functions we think they hold.
  void* c10 = elf::loaded_library("libc10.so");
  if (c10 == nullptr) return wrong("libraries");
  void* const* table = static_cast<void* const*>(elf::symbol_in_use(c10, "_ZTVN3c1010TensorImplE"));
  void* const* storage_table = static_cast<void* const*>(elf::symbol_in_use(c10, "_ZTVN3c1011StorageImplE"));
  if (table == nullptr || layout::word(impl, 0) != address(table + layout::kTableFunctions) ||
      storage_table == nullptr || layout::word(storage, 0) != address(storage_table + layout::kTableFunctions) ||
      table[layout::kTensorSlotRelease] != dlsym(c10, "_ZN3c1010TensorImpl17release_resourcesEv")) {
    return wrong("virtual tables");
  }
  // shallow_copy_from has no symbol of its own in libc10; it stands right after the overloads of its sibling.
  constexpr char kDetach[] = "_ZNK3c1010TensorImpl23shallow_copy_and_detachERKNS_15VariableVersionEb";
  constexpr char kDetachMove[] = "_ZNK3c1010TensorImpl23shallow_copy_and_detachEONS_15VariableVersionEb";
  if (table[layout::kTensorSlotDetach] != dlsym(c10, kDetach) ||
      table[layout::kTensorSlotDetachMove] != dlsym(c10, kDetachMove)) {
    return wrong("virtual tables");
  }
  return nullptr;
}

}  // namespace dcmt::torch_provider
