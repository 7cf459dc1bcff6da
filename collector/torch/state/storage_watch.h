// Storages that are tracked at any size: those with keys, any number of keys on each, and those that have shrunk. A
// storage is watched until it ends; then all its keys lose it at the same time.
//
// Thread-safety: any thread may call these functions at any time. Functions with a key require its KeyGuard. All are
// bounded: if another thread keeps a storage's list of keys busy for too long, the call gives up and counts a loss.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/state/key_table.h"

namespace dcmt::torch_provider {

/// False without memory. Call it once, before all other functions.
bool make_storage_watch() noexcept;
/// Forgets all watched storages. The caller has emptied the memory of arena().
void forget_watched() noexcept;

extern constinit std::atomic<std::int32_t> g_watched_count;  ///< written in storage_watch.cpp only
bool is_among_watched(const void* storage) noexcept;
inline bool storage_is_watched(const void* storage) noexcept {
  return g_watched_count.load(std::memory_order_relaxed) != 0 && is_among_watched(storage);
}

/// A tracked storage has shrunk below the size that is tracked by itself, or a tracked tensor has moved to such a
/// storage.
void watch_small(const void* storage) noexcept;

/// A number for a storage, which has none of its own: constant until the storage ends. -1: it has no number, and
/// `create` is false or there is no memory.
std::int64_t number_of_storage(const void* storage, bool create) noexcept;

/// Puts the key on a storage that it has gathered into, or that it waits for. The key's record will describe the
/// storage.
/// @param again  keys that have released the storage lose their claim even if the key was on it before
/// @return  false: the key has no storage now
bool hang_gathered(KeyIndex key, const void* storage, bool again) noexcept;
/// The key's cycle is closed. With `claims`, the key belongs to those that have released its storage from here on.
/// @return  whether it does
bool hang_released(KeyIndex key, bool claims) noexcept;
/// The storage of the key; nullptr: it has ended, or there was none.
const void* storage_of_key(KeyIndex key) noexcept;

/// The keys of a storage: those that have gathered into it, else those that have released it.
struct Claims {
  bool watched = false;
  bool gathered = false;
  KeyIndex released = 0;  ///< one of these keys; 0: none, or the storage was gathered again
  KeyIndex latest = 0;    ///< the key that was put on it last, if it is still there; else 0
};
Claims claims_on(const void* storage) noexcept;

/// True while a storage that a key has released is alive.
bool released_storages_alive() noexcept;
/// Calls `visit(key, storage)` for one key of each such storage.
void each_released(void (*visit)(void* context, KeyIndex key, const void* storage), void* context) noexcept;

/// Call it before the storage's memory is freed. True if it had keys.
bool unwatch_storage(const void* storage) noexcept;

/// A launch used the storage's memory while keys had gathered into it.
void note_touch(const void* storage, std::uint64_t name, std::uint64_t tsc) noexcept;
struct Touches {
  std::uint64_t count = 0;  ///< since the storage has been watched
  std::uint64_t name = 0;   ///< string id of the last kernel's name
  std::uint64_t tsc = 0;
};
Touches touches_of(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
