// The keys of gathered parameters, by their names: any number of them. A key stays for the life of the process.
//
// Thread-safety: any thread may find and add keys at any time, without a lock. What a key holds is kept to one thread
// by KeyGuard, except for what is atomic.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/torch/key_cycle.h"

namespace dcmt::torch_provider {

struct KeyName {
  std::int64_t graph;
  std::int64_t key;
};

/// The number of a key; 0: none.
using KeyIndex = std::uint32_t;

/// Where a key hangs: on a watched storage, until that ends (storage_watch.h, which alone writes it).
struct KeyHold {
  std::atomic<std::uint64_t> on;  ///< number and life of the watched storage; 0: none
  bool counted;                   ///< among the keys that have gathered into it
  std::atomic<bool> released;     ///< among its keys that are released
  KeyIndex previous, next;        ///< of these
};

struct KeySlot {
  static constexpr std::uint32_t kMoved = 4;

  std::atomic<std::uint32_t> busy;  ///< KeyGuard
  KeyIndex next;                    ///< in its chain of the table
  KeyName name;
  KeyCycle cycle;
  bool untracked;  ///< it was gathered into a storage that cannot be followed: whether that lives is not known
  KeyHold hold;
  std::atomic<std::uint32_t> reads;         ///< published since the final release
  std::atomic<std::uint32_t> kernel_reads;  ///< as well, by kernels
  std::uint64_t touches_before;             ///< touches of its storage when it was gathered
  std::atomic<const void*> moved[kMoved];   ///< tensors that the release re-pointed
};

/// False without memory. Once, before all else.
bool make_key_table() noexcept;
/// There are none any more. The caller has emptied the memory of arena().
void forget_keys() noexcept;

/// 0: there is no such key.
KeyIndex find_key(KeyName name) noexcept;
/// 0: there is no memory for it, which is said.
KeyIndex find_or_add_key(KeyName name) noexcept;
KeySlot& key_at(KeyIndex index) noexcept;

/// Keeps a key to one thread. Gives up after a bounded number of tries and counts a loss: the host must not wait for
/// us.
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
