// Hooks for births and ends of tensors.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Finds what the hooks call, and the virtual table. False if torch does not export it.
bool find_tensors(void* c10) noexcept;

/// False if another tool has changed the table since an earlier recording: a slot may then lead back to our own hook.
bool tensor_table_is_ours_alone() noexcept;

/// Writes the virtual table. False if it cannot be written.
bool hook_tensors() noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> tensor_imports() noexcept;

}  // namespace dcmt::torch_provider
