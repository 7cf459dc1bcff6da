// The sizes of CUDA blocks that are in a sum (small_blocks.h), by their address, without a lock.
//
// Torch's allocator splits segments of 2 MiB into such blocks, in units of 512 bytes. So one byte for each unit has the
// size of the block that begins there. The blocks of 32 KiB share a cache line, and a search reads one byte.
#pragma once

#include <cstdint>
#include <optional>

namespace dcmt::torch_provider {

/// The tables, as trace/spool/small_sizes.h describes them.
const void* small_cuda_regions() noexcept;

/// Call it under the lock of the block's allocator. Allocates 4 KiB at the first block of each 2 MiB.
/// @param bytes  below kFollowedBytes
/// @return the bytes of an earlier block at this address whose end was missed, else 0; nothing if the block cannot be
/// tracked: it does not consist of whole units, or the table is full
std::optional<std::uint64_t> track_small_cuda_block(std::uint64_t address, std::uint64_t bytes) noexcept;

/// Removes the block. Only the thread that frees it, or whose tensor has it, may call this.
/// @return its bytes; 0: it is not tracked
std::uint64_t forget_small_cuda_block(std::uint64_t address) noexcept;

}  // namespace dcmt::torch_provider
