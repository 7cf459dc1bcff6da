// Storages that are followed at any size: those on which keys hang, any number of keys on each, and those that have
// shrunk. A storage is watched once and stays so until it ends; then all its keys have none, at once.
//
// Thread-safety: any thread may call these at any time. What concerns a key is called with its KeyGuard owned. Bounded:
// where another thread keeps a storage's list of keys busy for too long, the call gives up and counts a loss.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/key_table.h"

namespace dcmt::torch_provider {

/// False without memory. Once, before all else.
bool make_storage_watch() noexcept;
/// None is watched any more. The caller has emptied the memory of arena().
void forget_watched() noexcept;

extern constinit std::atomic<std::int32_t> g_watched_count;  ///< written in storage_watch.cpp only
bool is_among_watched(const void* storage) noexcept;
inline bool storage_is_watched(const void* storage) noexcept {
  return g_watched_count.load(std::memory_order_relaxed) != 0 && is_among_watched(storage);
}

/// A followed storage became, or a followed tensor moved to, one smaller than what is followed by size alone.
void watch_small(const void* storage) noexcept;

/// A number for a storage that has none of its own: the same until it ends. -1: it has none, and `create` is false or
/// there is no memory.
std::int64_t number_of_storage(const void* storage, bool create) noexcept;

/// The key has gathered into this storage, of which the key's record will speak, or waits for it.
/// @param again  whether keys that have released the storage lose their claim even if the key was on it before
/// @return  false: the key has no storage now
bool hang_gathered(KeyIndex key, const void* storage, bool again) noexcept;
/// The key's cycle is closed. With `claims` the key is one of those that have released its storage from here on.
/// @return  whether that is so
bool hang_released(KeyIndex key, bool claims) noexcept;
/// The storage on which the key hangs; nullptr: it has ended, or there was none.
const void* storage_of_key(KeyIndex key) noexcept;

/// Whose storage this is: of keys that have gathered into it, else of those that have released it.
struct Claims {
  bool watched = false;
  bool gathered = false;
  KeyIndex released = 0;  ///< one of these keys; 0: there is none, or it was gathered again
  KeyIndex latest = 0;    ///< the key that hung itself on it last, if it still does; else 0
};
Claims claims_on(const void* storage) noexcept;

/// True while a storage that a key has released is alive.
bool released_storages_alive() noexcept;
/// Calls `visit(key, storage)` for one key of each such storage.
void each_released(void (*visit)(void* context, KeyIndex key, const void* storage), void* context) noexcept;

/// The storage ends: call it before its memory goes. True if keys hung on it.
bool unwatch_storage(const void* storage) noexcept;

/// A launch got the storage's memory while keys had gathered into it.
void note_touch(const void* storage, std::uint64_t name, std::uint64_t tsc) noexcept;
struct Touches {
  std::uint64_t count = 0;  ///< since the storage is watched
  std::uint64_t name = 0;   ///< string id of the last one's kernel
  std::uint64_t tsc = 0;
};
Touches touches_of(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
