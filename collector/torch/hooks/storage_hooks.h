// Hooks for births, ends and sizes of storages.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"
#include "collector/torch/hooks/new_objects.h"

namespace dcmt::torch_provider {

/// Finds what the hooks call, and the virtual tables. False if torch does not export it.
bool find_storages(void* c10, void* cpu) noexcept;

/// False if another tool has changed the table since an earlier recording: a slot may then lead back to our own hook.
bool storage_table_is_ours_alone() noexcept;

/// Writes the virtual tables. False if they cannot be written.
/// @param functional  also those of functional storages
bool hook_storages(bool functional) noexcept;

/// Frees the bytes of a storage, as a program that resizes it to 0. Call it outside of the guard. False: torch refuses.
bool empty_storage(const void* storage) noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> storage_imports() noexcept;
std::span<const CudaImport> storage_cuda_imports() noexcept;

}  // namespace dcmt::torch_provider
