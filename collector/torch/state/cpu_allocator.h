// Which storages have a block of torch's own CPU allocator, and blocks with pages of their own.
#pragma once

#include <cstddef>

#include "collector/torch/state/storage_copy.h"

namespace dcmt::torch_provider {

/// Finds out whether libc10 takes its blocks from malloc. The wheels for aarch64 have an allocator of their own in it.
void find_cpu_allocator() noexcept;

/// The bytes of a block, by malloc_usable_size(); 0: it is not malloc's.
std::size_t usable_bytes(void* block) noexcept;

/// True if the storage's memory is a whole block of torch's CPU allocator: not memory of somebody else, not shared, not
/// mapped from a file, not page-locked. False where blocks are not malloc's: their ends are not recorded then.
bool is_of_cpu_allocator(const StorageCopy& storage) noexcept;

/// A block that shares no page with another one, which torch's own function frees. nullptr: the bytes are too few,
/// there is no memory, or torch frees it in another way; use torch's allocator then.
void* alloc_pages(std::size_t bytes) noexcept;

}  // namespace dcmt::torch_provider
