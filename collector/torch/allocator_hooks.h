// Blocks of torch's CPU and CUDA allocators, and the requests that they could not serve.
#pragma once

#include <span>

#include "collector/torch/elf_patch.h"

namespace dcmt::torch_provider {

/// Looks for what the hooks pass on to. False if torch does not export it.
bool find_allocators(void* c10) noexcept;

/// Looks for what is asked of CUDA when a request fails; call when torch's CUDA libraries may have been loaded.
void find_cuda_allocator() noexcept;

/// The import slots to redirect.
std::span<const ImportPatch> allocator_imports() noexcept;

}  // namespace dcmt::torch_provider
