// The sizes of CUDA blocks that are in a sum (small_blocks.h), by their address, without a lock.
//
// Torch's allocator cuts such blocks from segments of 2 MiB, in units of 512 bytes. So a byte for each unit of such
// memory tells the size of the block that begins there: the blocks of 32 KiB share a cache line, and there is one to
// look at.
#pragma once

#include <cstdint>
#include <optional>

namespace dcmt::torch_provider {

/// The tables, as trace/spool/small_sizes.h describes them.
const void* small_cuda_regions() noexcept;

/// Call under the lock of the block's allocator. Takes 4 KiB at the first block of each 2 MiB.
/// @param bytes  below kFollowedBytes
/// @return the bytes of a block that was known there, whose end was not seen, else 0; nothing if this one cannot be
/// known: it is not made of whole units, or there is no room
std::optional<std::uint64_t> know_small_cuda_block(std::uint64_t address, std::uint64_t bytes) noexcept;

/// Takes the block out. Only who gives it back, or whose tensor has it, calls this.
/// @return its bytes, 0: it is not known
std::uint64_t forget_small_cuda_block(std::uint64_t address) noexcept;

}  // namespace dcmt::torch_provider
