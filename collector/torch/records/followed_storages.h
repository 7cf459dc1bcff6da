// What is recorded of a storage and its tensors.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {

/// True if the birth of an object on this storage is recorded.
inline bool follow_begin(const void* storage) noexcept {
  return agent::full_detail() || is_followed_by_size(storage) || storage_is_watched(storage);
}

/// True if the end of an object on this storage is recorded. That includes a storage without bytes, because it may have
/// had many. The recorder ignores the end of an object whose begin it has not seen.
inline bool follow_end(const void* storage) noexcept { return follow_begin(storage) || layout::is_empty(storage); }

/// The stack for a begin or an end on this storage. In `lifetimes`, views and ends have no stack, except on a key's
/// storage: a default run can afford only the stack of each storage's begin.
inline std::uint64_t stack_of(const void* storage) noexcept {
  return agent::full_detail() || storage_is_watched(storage) ? stack_here() : 0;
}

}  // namespace dcmt::torch_provider
