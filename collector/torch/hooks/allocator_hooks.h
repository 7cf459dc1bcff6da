// Hooks for blocks of torch's CPU and CUDA allocators, and for requests that failed.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Finds the functions that the hooks call. False if torch does not export them.
bool find_allocators(void* c10) noexcept;

/// Observes the CUDA allocator in more detail, if that is wanted and as soon as it is possible; reports an unknown kind
/// of allocator. Allocates and acquires the allocator's lock: call it when objects may have been loaded, without that
/// lock.
void follow_cuda_allocator() noexcept;

/// See agent::TorchProvider::write_gpu_blocks.
void write_gpu_blocks(bool recording) noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> allocator_imports() noexcept;

}  // namespace dcmt::torch_provider
