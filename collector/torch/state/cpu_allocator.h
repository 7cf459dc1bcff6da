// Which storages have a block of torch's own CPU allocator, and blocks with pages of their own.
#pragma once

#include <cstddef>

#include "collector/torch/state/storage_copy.h"

namespace dcmt::torch_provider {

/// True if the storage's memory is a whole block of torch's CPU allocator: not memory of somebody else, not shared, not
/// mapped from a file, not page-locked.
bool is_of_cpu_allocator(const StorageCopy& storage) noexcept;

/// A block that shares no page with another one, which torch's own function frees. nullptr: the bytes are too few, or
/// there is no memory; use torch's allocator then.
void* alloc_pages(std::size_t bytes) noexcept;

}  // namespace dcmt::torch_provider
