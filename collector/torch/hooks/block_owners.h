// Owners of CUDA blocks that belong to no tensor: the workspaces of cuBLAS and cuBLASLt.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// The import slots to redirect, for the functions that this torch has. If a torch has no known function for a
/// workspace, a diagnostic says so once; its block then has no owner.
/// @param cuda  handle of libtorch_cuda
std::span<const elf::ImportPatch> block_owner_imports(void* cuda) noexcept;

}  // namespace dcmt::torch_provider
