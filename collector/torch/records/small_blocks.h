// With detail `lifetimes`, blocks below kFollowedBytes count only for the curve and have no records of their own. Their
// sum for each device is counted here, and recorded before it is needed (docs/decisions/detail.md).
#pragma once

#include <cstdint>

#include "collector/agent/hot_path.h"
#include "collector/torch/facts/layout.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {

/// Sets all sums to 0 and forgets all blocks. The caller has emptied the memory of arena().
void forget_small_blocks() noexcept;

/// True if a storage below kFollowedBytes has a size that is tracked nevertheless.
bool is_small_but_followed(const void* storage) noexcept;

/// Adds a new block to its device's sum. False if the block gets a record of its own: it is not small, the detail is
/// higher, or the table is full. For a CUDA block, call this and remove_small_block() under its allocator's lock.
/// @param device  as in wire::BlockRecord
bool add_small_block(std::uint32_t device, const void* address, std::uint64_t bytes) noexcept;

/// Call it before the block is freed: removes it from its sum. False if it is in no sum.
bool remove_small_block(std::uint32_t device, const void* address) noexcept;

/// True if the storage has records of its own because of its size, in `lifetimes`.
inline bool is_followed_by_size(const void* storage) noexcept {
  const std::uint64_t bytes = layout::bytes_of(storage);
  if (bytes < agent::g_hot.smallest_followed.load(std::memory_order_relaxed)) return false;
  return bytes >= static_cast<std::uint64_t>(kFollowedBytes) || is_small_but_followed(storage);
}

/// The block gets a record of its own from now on: removes it from its sum, without the allocator's lock. Only the
/// thread whose tensor has it may call this.
/// @return its bytes; 0: it is in no sum
std::uint64_t take_small_block(std::uint32_t device, const void* address) noexcept;

/// Call it before another block of the device is recorded: the curve's peaks stay exact.
void write_small_sum_before_alloc(std::uint32_t device) noexcept;
void write_small_sum_before_free(std::uint32_t device) noexcept;

/// Call it before a point at which all curves must be exact: a mark, a user scope, a backward pass, a gather or
/// release. Call it inside the guard.
void write_small_sums() noexcept;

}  // namespace dcmt::torch_provider
