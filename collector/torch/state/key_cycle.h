// The cycle of one key, as a pure state machine: gather, wait, release, final release. It uses no memory, no thread and
// no torch. release_keys.h calls it for each event and publishes its results.
#pragma once

#include <cstdint>

#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// Plain data: zeros are a key that was never gathered. Not thread-safe: the owner allows one thread at a time.
struct KeyCycle {
  std::uint64_t number;    ///< cycles so far; the first one is 1
  std::int32_t declared;   ///< the first declared count of uses in this cycle; 0: none yet
  std::int32_t remaining;  ///< uses left of that count
  bool persistent;         ///< releases are only counted: none is final
  bool gathered;           ///< a cycle is open: gathered and not finally released
};

/// True if a cycle begins. A gather that returns the same buffer, while the key is still gathered, continues its cycle.
/// A gather of another buffer begins a cycle, even if uses of the last one are left.
inline bool gather(KeyCycle& key, bool another_buffer) noexcept {
  if (key.gathered && !another_buffer) return false;
  key.gathered = true;
  ++key.number;
  key.declared = key.remaining = 0;
  return true;
}

/// A release operator has ended.
/// @param declared  the declared count of uses; below 1 counts as 1. The first one of a cycle is counted down.
/// @param unwound   it threw: it has released nothing and will be tried again
/// @return flags of wire::KeyRecord; with kKeyFinal the cycle is closed
inline std::uint32_t release(KeyCycle& key, std::int32_t declared, bool unwound) noexcept {
  std::uint32_t flags = key.gathered ? 0 : wire::kKeyNoGather;
  if (key.remaining == 0) {
    key.remaining = key.declared = declared > 0 ? declared : 1;
  } else if (declared != key.declared) {
    flags |= wire::kKeyMismatch;
  }
  if (unwound) return flags;
  if (--key.remaining > 0 || key.persistent) return flags;
  key.gathered = false;
  return flags | wire::kKeyFinal;
}

}  // namespace dcmt::torch_provider
