// Who reads after a release: operators and kernels that get a released storage, or a tensor that its release
// re-pointed.
#pragma once

#include <cstdint>

#include "collector/torch/key_table.h"

namespace dcmt::torch_provider {

/// False without memory. Once, before all else.
bool make_moved_tensors() noexcept;
/// None is known any more. The caller has emptied the memory of arena().
void forget_moved_tensors() noexcept;

/// True while a released storage or a re-pointed tensor is still alive: operators' inputs must be looked at.
bool reads_wanted() noexcept;

/// A key after its final release, with what is left of its storage.
struct ReleasedKey {
  KeyIndex key;
  const void* storage;
  std::uint64_t bytes;
};
/// False if the tensor, which is alive, neither lies on a released storage nor was re-pointed by a release.
bool released_key_of(const void* tensor, ReleasedKey& out) noexcept;

/// @param flags  0 or wire::kReadOverwrites
void write_read(const ReleasedKey& key, const void* tensor, const char* op, std::uint64_t ordinal,
                std::uint32_t flags) noexcept;
/// A kernel got an address in the memory of `storage`, which may have ended since it was watched: it is not looked at.
/// A read, if it is released; else, a use of it.
/// @param left_over  the address is none that the kernel works with: of a released storage it tells nothing
void kernel_touches(const void* storage, std::uint64_t bytes, const char* kernel, std::uint64_t ordinal,
                    bool left_over) noexcept;

/// The key's next cycle begins: its reads are counted anew, and what its release re-pointed is a good tensor again. Its
/// KeyGuard is owned.
void forget_reads(KeyIndex key) noexcept;

// Told by the lifetime hooks. Cheap where nothing was re-pointed.
void watched_tensor_ends(const void* tensor) noexcept;
void watched_tensor_moves(const void* tensor, const void* old_storage) noexcept;

}  // namespace dcmt::torch_provider
