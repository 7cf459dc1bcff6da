// The cycles of gathered parameters: gather, wait, release, settled; and who reads after a release.
//
// A key is (graph, parameter). Its storage is the output of its latest gather or wait; a release operator's tensor
// argument is an activation and says nothing. The first declared count of a cycle is the one that counts down.
#pragma once

#include <atomic>
#include <cstdint>

#include "trace/wire/records.h"

namespace dcmt::torch_provider {

bool make_key_table() noexcept;

struct KeyName {
  std::int64_t graph;
  std::int64_t key;
};

/// What a gather or wait gives: a tensor, or (`tensor` nullptr) a storage.
struct Gathered {
  const void* tensor;
  const void* storage;
};

/// `op` is the string id of the operator, function or mark. `flags` may carry wire::kKeyExplicit, kKeyFunction and
/// kKeyUnwound.
void key_gathered(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept;
void key_waited(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept;
void key_persistent(KeyName name, std::uint64_t op, std::uint32_t flags) noexcept;
void key_release_begins(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept;
void key_release_ends(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept;

/// True if a cycle of this key is open.
bool key_is_gathered(KeyName name) noexcept;
/// The key of that graph which this storage has served, gathered or not. False if there is none.
bool key_of_storage(const void* storage, std::int64_t graph, KeyName& out) noexcept;

/// The calling thread begins an operator: its final releases get their verdict and, where bytes remain, a census.
void settle_releases() noexcept;

/// A census of the storages that outlived their release: of the largest, if there are many.
void look_at_released(wire::CensusTrigger trigger) noexcept;

/// True once something has been gathered.
bool keys_exist() noexcept;

/// True while a released storage or a re-pointed tensor is still alive: operators' inputs must be looked at.
bool reads_wanted() noexcept;

/// A key after its final release, with what is left of its storage.
struct ReleasedKey {
  KeyName name;
  const void* storage;
  std::uint64_t bytes;
};
/// False if the tensor neither lies on a released storage nor was re-pointed by a release.
bool released_key_of(const void* tensor, ReleasedKey& out) noexcept;

void write_read(const ReleasedKey& key, const void* tensor, const char* op, std::uint64_t ordinal) noexcept;
/// A kernel got an address in the memory of `storage`, which may have ended since it was watched: it is not looked at.
/// A read, if it is released; else, a use of it.
/// @param left_over  the address is none that the kernel works with: of a released storage it tells nothing
void kernel_touches(const void* storage, std::uint64_t bytes, const char* kernel, std::uint64_t ordinal,
                    bool left_over) noexcept;

// Told by the lifetime hooks. Cheap where nothing is watched.
void watched_storage_ends(const void* storage) noexcept;
void watched_tensor_ends(const void* tensor) noexcept;
void watched_tensor_moves(const void* tensor, const void* old_storage) noexcept;
/// It has no bytes any more.
void watched_storage_empties(const void* storage) noexcept;
extern constinit std::atomic<std::int32_t> g_watched_count;  ///< all of them; written in release_keys.cpp only
bool is_among_watched(const void* storage) noexcept;
/// True if the storage belongs to a key or has shrunk: it is followed at any size.
inline bool storage_is_watched(const void* storage) noexcept {
  return g_watched_count.load(std::memory_order_relaxed) != 0 && is_among_watched(storage);
}
/// A followed storage became, or a followed tensor moved to, one smaller than what is followed by size alone.
void watch_small(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
