#include "collector/torch/hooks/new_objects.h"

#include <stdio.h>
#include <time.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/hooks/allocator_hooks.h"
#include "collector/torch/hooks/block_owners.h"
#include "collector/torch/hooks/pinned_hooks.h"

namespace dcmt::torch_provider {
namespace {

using elf::ImportPatch;

constinit HookedImports g_imports{};

/// If the agent was not preloaded, the imports of dlopen and dlsym show what programs load.
std::span<const ImportPatch> loader_imports() {
  static ImportPatch imports[2];
  static const agent::LoaderFunctions functions = agent::loader_functions_to_import();
  if (functions.open == nullptr) return {};
  imports[0] = {"dlopen", functions.open, nullptr};
  imports[1] = {"dlsym", functions.symbol, nullptr};
  return imports;
}

/// The imports of CUDA's functions once all of them are available, else nothing.
std::span<const ImportPatch> cuda_imports(void* cuda) noexcept {
  static constinit ImportPatch patches[4] = {};
  static constinit std::size_t count = 0;
  if (count != 0) return {patches, count};
  std::size_t found = 0;
  for (const std::span<const CudaImport> imports : g_imports.cuda) {
    for (const CudaImport& import : imports) {
      if (!elf::find(cuda, import.symbol, *import.real)) return {};
      patches[found++] = {import.symbol, import.hook, nullptr};
    }
  }
  count = found;
  return {patches, count};
}

/// Only one thread at a time changes slots.
constinit std::atomic<bool> g_patching{false};
/// False once the recording has ended: a thread that is still in a hook must not install hooks.
constinit std::atomic<bool> g_may_patch{false};

/// A thread that has just loaded an object will call into it, so it waits for another thread's check, but only for a
/// bounded time.
bool begin_patching() noexcept {
  constexpr int kPatience = 2000;
  constexpr timespec kPause{0, 50'000};
  for (int tries = 0; g_patching.exchange(true, std::memory_order_acquire); ++tries) {
    if (tries == kPatience) return false;
    nanosleep(&kPause, nullptr);
  }
  return true;
}

void end_patching() noexcept { g_patching.store(false, std::memory_order_release); }

}  // namespace

std::size_t redirect_imports(const HookedImports& imports) noexcept {
  g_imports = imports;
  g_may_patch.store(true, std::memory_order_release);
  return patch_new_objects();
}

void restore_all_slots() noexcept {
  g_may_patch.store(false, std::memory_order_release);
  const bool alone = begin_patching();
  elf::undo();
  if (alone) end_patching();
}

std::size_t patch_new_objects() noexcept {
  if (!begin_patching()) {
    agent::note_objects_changed();
    return 0;
  }
  if (!g_may_patch.load(std::memory_order_acquire)) {
    end_patching();
    return 0;
  }
  std::span<const ImportPatch> groups[HookedImports::kGroups + 3] = {loader_imports()};
  std::ranges::copy(g_imports.groups, groups + 3);
  if (void* cuda = elf::loaded_library("libtorch_cuda.so"); cuda != nullptr && !cuda_imports(cuda).empty()) {
    groups[1] = cuda_imports(cuda);
    groups[2] = block_owner_imports(cuda);
    follow_pinned_blocks();
  }
  const elf::Patched patched = elf::patch_imports(groups);
  if (patched.postponed) agent::note_objects_changed();
  if (patched.given_up != nullptr) {
    char text[512];
    snprintf(text, sizeof text, "%s never finished loading; its tensors are not recorded", patched.given_up);
    agent::diagnose(wire::DiagnosticCode::kNote, text);
  }
  end_patching();
  follow_cuda_allocator();
  return patched.written;
}

}  // namespace dcmt::torch_provider
