// Who keeps blocks of the CUDA allocator without a tensor: the workspaces of cuBLAS and cuBLASLt.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// The import slots to redirect, of as many of the functions as this torch has. A torch that has none for a workspace
/// is said once: its block then belongs to nobody.
/// @param cuda  handle of libtorch_cuda
std::span<const elf::ImportPatch> block_owner_imports(void* cuda) noexcept;

}  // namespace dcmt::torch_provider
