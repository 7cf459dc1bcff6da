#include "collector/torch/install_hooks.h"

#include <time.h>

#include <algorithm>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/hooks/allocator_hooks.h"
#include "collector/torch/hooks/backward_hook.h"
#include "collector/torch/hooks/move_hooks.h"
#include "collector/torch/hooks/new_objects.h"
#include "collector/torch/hooks/optimizer_hooks.h"
#include "collector/torch/hooks/storage_hooks.h"
#include "collector/torch/hooks/system_call_hooks.h"
#include "collector/torch/hooks/tensor_hooks.h"
#include "collector/torch/operators/operator_events.h"

namespace dcmt::torch_provider {
namespace {

bool redirect(const HookedImports& imports, const char** why) noexcept {
  if (redirect_imports(imports) == 0) {
    *why = "no import slot of torch's libraries could be redirected";
    return false;
  }
  if (!agent::gate_open()) {
    // Other threads are running: a thread that was binding a slot at that time has overwritten our hook.
    constexpr timespec kUntilBound{0, 10'000'000};
    nanosleep(&kUntilBound, nullptr);
    elf::inspect_all_again();
    patch_new_objects();
  }
  return true;
}

}  // namespace

bool hook_allocators(const char** why) noexcept {
  void* c10 = elf::loaded_library("libc10.so");
  if (c10 == nullptr || !find_allocators(c10)) {
    *why = "libc10.so is not loaded under its usual name, or does not export the allocator functions that are hooked";
    return false;
  }
  return redirect({{allocator_imports()}, {}}, why);
}

bool install_hooks(bool functional, const char** why) noexcept {
  void* c10 = elf::loaded_library("libc10.so");
  void* cpu = elf::loaded_library("libtorch_cpu.so");
  if (c10 == nullptr || cpu == nullptr) {
    *why = "libc10.so or libtorch_cpu.so is not loaded under its usual name";
    return false;
  }
  if (!find_tensors(c10) || !find_moves(c10, cpu) || !find_storages(c10, cpu) || !find_allocators(c10) ||
      !find_engine(cpu)) {
    *why = "this torch does not export the constructors, destructors or allocator functions that are hooked";
    return false;
  }
  if (!tensor_table_is_ours_alone() || !move_slot_is_ours_alone() || !storage_table_is_ours_alone()) {
    *why = "another tool has changed torch's virtual tables since it was recorded before";
    return false;
  }
  if (!hook_tensors() || !hook_moves() || !hook_storages(functional) || !hook_engine()) {
    *why = "the virtual tables of torch's objects cannot be written";
    return false;
  }
  // Under Python, optimizers are Python's.
  if (elf::loaded_library("libtorch_python.so") == nullptr) hook_optimizers(cpu);
  HookedImports imports{{tensor_imports(), move_imports(), storage_imports(), engine_imports(), allocator_imports(),
                         user_scope_imports(), optimizer_imports()},
                        {move_cuda_imports(), storage_cuda_imports()}};
  std::ranges::copy(system_call_imports(), imports.groups + HookedImports::kOfTorch);
  return redirect(imports, why);
}

}  // namespace dcmt::torch_provider
