// Redirects the imports of the objects that are loaded, and of those that the program loads later.
#pragma once

#include <cstddef>
#include <span>

#include "collector/elf/elf_patch.h"
#include "collector/torch/hooks/system_call_hooks.h"

namespace dcmt::torch_provider {

/// An import of libtorch_cuda's function, which a program can load later than the others.
struct CudaImport {
  const char* symbol;
  void* hook;
  void** real;  ///< gets the function that the hook calls, before the first slot is redirected
};

/// The imports that the hooks need. All parts must live for ever.
struct HookedImports {
  static constexpr std::size_t kOfTorch = 7;  ///< groups of torch's symbols, before those of system calls
  static constexpr std::size_t kGroups = kOfTorch + kSystemCallGroups;
  std::span<const elf::ImportPatch> groups[kGroups];  ///< as for elf::patch_imports
  std::span<const CudaImport> cuda[2];
};

/// Redirects the imports of all objects; later ones when patch_new_objects() is called. Returns how many slots were
/// written. Call it when no hook runs that calls patch_new_objects().
std::size_t redirect_imports(const HookedImports& imports) noexcept;

/// Redirects the imports of objects that were loaded since the last call, and observes the memory of CUDA as soon as
/// its libraries are loaded. Returns how many slots were written. Any thread may call it.
std::size_t patch_new_objects() noexcept;

/// Restores all slots, of imports and of virtual tables, except where another tool has replaced our hook. From here on
/// patch_new_objects() does nothing.
void restore_all_slots() noexcept;

}  // namespace dcmt::torch_provider
