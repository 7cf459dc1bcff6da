// With detail `lifetimes`, blocks below kFollowedBytes count for the curve only, so they are no records each: what
// every device has in them is summed here, and told before the sum matters to anything (docs/adr/0018).
#pragma once

#include <cstdint>

#include "collector/agent/hot_path.h"
#include "collector/torch/layout.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {

/// All sums are 0, and no block is known. The caller has emptied the memory of arena().
void forget_small_blocks() noexcept;

/// Of a storage below kFollowedBytes: whether its size is among those that are followed nevertheless.
bool is_small_but_followed(const void* storage) noexcept;

/// Takes a new block into its device's sum. False if it is to be told like any other: it is not small, the detail is
/// higher, or there is no room. Of a CUDA block, call this and remove_small_block() under its allocator's lock.
/// @param device  as in wire::BlockRecord
bool add_small_block(std::uint32_t device, const void* address, std::uint64_t bytes) noexcept;

/// Before the block is given back: takes it out of its sum. False if it is in none.
bool remove_small_block(std::uint32_t device, const void* address) noexcept;

/// Whether the storage has records of its own for its size, in `lifetimes`.
inline bool is_followed_by_size(const void* storage) noexcept {
  const std::uint64_t bytes = layout::bytes_of(storage);
  if (bytes < agent::g_hot.smallest_followed.load(std::memory_order_relaxed)) return false;
  return bytes >= static_cast<std::uint64_t>(kFollowedBytes) || is_small_but_followed(storage);
}

/// The storage is followed although it is small: its block leaves the sum and is told.
void tell_block_of(const void* storage) noexcept;

/// Before another block of the device is told to begin or to end: the curve's peaks stay exact.
void write_small_sum_before_alloc(std::uint32_t device) noexcept;
void write_small_sum_before_free(std::uint32_t device) noexcept;

/// Before a moment at which all curves are to be exact: a mark, a scope of a user, a backward pass, a gather or
/// release. Inside the guard.
void write_small_sums() noexcept;

}  // namespace dcmt::torch_provider
