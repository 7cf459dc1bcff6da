// Hooks for calls that can give a tensor another storage.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"
#include "collector/torch/hooks/new_objects.h"

namespace dcmt::torch_provider {

/// Finds what the hooks call, and the tensors' virtual table. False if torch does not export it.
bool find_moves(void* c10, void* cpu) noexcept;

/// False if another tool has changed the slot since an earlier recording: it may then lead back to our own hook.
bool move_slot_is_ours_alone() noexcept;

/// Writes the virtual table. False if it cannot be written.
bool hook_moves() noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> move_imports() noexcept;
std::span<const CudaImport> move_cuda_imports() noexcept;

}  // namespace dcmt::torch_provider
