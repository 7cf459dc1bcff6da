// The sizes of CUDA blocks that are in a sum (small_blocks.h), by their address, without a lock.
//
// Torch's allocator cuts such blocks from segments of 2 MiB, in units of 512 bytes. So a byte for each unit of such
// memory tells the size of the block that begins there: the blocks of 32 KiB share a cache line, and a look searches
// nothing.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Takes 2 MiB. Call before the first block is seen, outside of a hook; does nothing when called again.
void make_small_cuda_table() noexcept;

/// Call under the lock of the block's allocator.
/// @param bytes  below kFollowedBytes
/// @return false if it cannot be known: it is not made of whole units, or there is no room
bool know_small_cuda_block(std::uint64_t address, std::uint64_t bytes) noexcept;

/// Takes the block out. Only who gives it back, or whose tensor has it, calls this.
/// @return its bytes, 0: it is not known
std::uint64_t forget_small_cuda_block(std::uint64_t address) noexcept;

}  // namespace dcmt::torch_provider
