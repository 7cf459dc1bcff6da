// The keys of gathered parameters, by their names, in any number. A key stays for the life of the process.
//
// Thread-safety: any thread may find and add keys at any time, without a lock. The fields of a key, except atomic ones,
// are protected by KeyGuard.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/state/key_cycle.h"

namespace dcmt::torch_provider {

struct KeyName {
  std::int64_t graph;
  std::int64_t key;
};

/// The number of a key; 0: none.
using KeyIndex = std::uint32_t;

/// A key's place on a watched storage, until the storage ends. Only storage_watch.h writes it.
struct KeyHold {
  std::atomic<std::uint64_t> on;  ///< number and life of the watched storage; 0: none
  bool counted;                   ///< the key counts among those that have gathered into the storage
  std::atomic<bool> released;     ///< the key is among those that have released the storage
  KeyIndex previous, next;        ///< neighbours in the list of these keys
};

struct KeySlot {
  static constexpr std::uint32_t kMoved = 4;

  std::atomic<std::uint32_t> busy;  ///< KeyGuard
  KeyIndex next;                    ///< next key in its chain of the table
  KeyName name;
  KeyCycle cycle;
  bool untracked;  ///< it was gathered into a storage that cannot be tracked: whether that is alive is unknown
  KeyHold hold;
  std::atomic<std::uint32_t> reads;         ///< reads published since the final release
  std::atomic<std::uint32_t> kernel_reads;  ///< the same for reads by kernels
  std::uint64_t touches_before;             ///< touches of its storage when it was gathered
  std::atomic<const void*> moved[kMoved];   ///< tensors that the release re-pointed
};

/// A key after its final release, and what is left of its storage.
struct ReleasedKey {
  KeyIndex key;
  const void* storage;
  std::uint64_t bytes;
};
/// False without memory. Call it once, before all other functions.
bool make_key_table() noexcept;
/// Forgets all keys. The caller has emptied the memory of arena().
void forget_keys() noexcept;

/// 0: there is no such key.
KeyIndex find_key(KeyName name) noexcept;
/// 0: there is no memory for it; a diagnostic says so.
KeyIndex find_or_add_key(KeyName name) noexcept;
KeySlot& key_at(KeyIndex index) noexcept;

/// Gives one thread exclusive access to a key. Gives up after a bounded number of tries and counts a loss: the program
/// must not wait for us.
class KeyGuard {
 public:
  explicit KeyGuard(KeySlot& key) noexcept;
  ~KeyGuard() {
    if (owned) key_.busy.store(0, std::memory_order_release);
  }
  KeyGuard(const KeyGuard&) = delete;
  KeyGuard& operator=(const KeyGuard&) = delete;
  bool owned = false;

 private:
  KeySlot& key_;
};

}  // namespace dcmt::torch_provider
