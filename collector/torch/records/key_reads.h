// Finds reads after a release: operators and kernels that get a released storage, or a tensor that its release
// re-pointed.
#pragma once

#include <cstdint>

#include "collector/torch/state/key_table.h"

namespace dcmt::torch_provider {

/// False without memory. Call it once, before all other functions.
bool make_moved_tensors() noexcept;
/// Forgets all tensors. The caller has emptied the memory of arena().
void forget_moved_tensors() noexcept;

/// True while a released storage or a re-pointed tensor is alive: the inputs of operators must be checked.
bool reads_wanted() noexcept;

/// False if the live tensor is neither on a released storage nor re-pointed by a release.
bool released_key_of(const void* tensor, ReleasedKey& out) noexcept;

/// @param flags  0 or wire::kReadOverwrites
void write_read(const ReleasedKey& key, const void* tensor, const char* op, std::uint64_t ordinal,
                std::uint32_t flags) noexcept;
/// A kernel got an address in the memory of `storage`. The storage may have ended since it was watched, so it is not
/// dereferenced. If the storage is released, this is a read; otherwise it is a use.
/// @param left_over  the kernel does not work with the address: for a released storage it proves nothing
void kernel_touches(const void* storage, std::uint64_t bytes, const char* kernel, std::uint64_t ordinal,
                    bool left_over) noexcept;

/// The key's next cycle begins: its reads are counted from 0, and the tensors that its release re-pointed are valid
/// again. Its KeyGuard is owned.
void forget_reads(KeyIndex key) noexcept;

// The hooks of tensors and storages call these. Cheap if nothing was re-pointed.
void watched_tensor_ends(const void* tensor) noexcept;
void watched_tensor_moves(const void* tensor, const void* old_storage) noexcept;

}  // namespace dcmt::torch_provider
