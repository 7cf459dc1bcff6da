// Blocks of torch's CPU and CUDA allocators, and the requests that they could not serve.
#pragma once

#include <cstdint>
#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Looks for what the hooks pass on to. False if torch does not export it.
bool find_allocators(void* c10) noexcept;

/// Follows the CUDA allocator closer, where that is wanted and as soon as it can be; says so if its kind is not known.
/// Allocates and takes the allocator's lock: call when objects may have been loaded, outside of that lock.
void follow_cuda_allocator() noexcept;

/// Tells of a block as if it were allocated now. Inside the guard.
/// @param device  as in wire::BlockRecord  @param owner  static text; nullptr: nobody but a tensor's storage
void write_block_alloc(std::uint32_t device, const void* address, std::uint64_t bytes,
                       const char* owner = nullptr) noexcept;
/// As if it were freed now.
void write_block_free(std::uint32_t device, const void* address) noexcept;

/// See agent::TorchProvider::write_gpu_blocks.
void write_gpu_blocks(bool recording) noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> allocator_imports() noexcept;

}  // namespace dcmt::torch_provider
