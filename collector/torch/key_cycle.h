// The cycle of one key, as a pure state machine: gather, wait, release, final release. It knows no memory, no thread
// and no torch; release_keys.h feeds it with what happens and publishes what it answers.
#pragma once

#include <cstdint>

#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// Plain data: zeros are a key that was never gathered. Not thread-safe: the owner keeps it to one thread at a time.
struct KeyCycle {
  std::uint64_t number;    ///< cycles so far; the first one is 1
  std::int32_t declared;   ///< the first count of uses that a release of this cycle declared; 0: none yet
  std::int32_t remaining;  ///< uses left of it
  bool persistent;         ///< releases only count: none is final
  bool gathered;           ///< a cycle is open: gathered and not finally released
};

/// True if a cycle begins. A gather of what is still gathered hands out the same buffer again: its cycle goes on.
/// Another buffer is another cycle, even if fewer releases ran than the last one declared.
inline bool gather(KeyCycle& key, bool another_buffer) noexcept {
  if (key.gathered && !another_buffer) return false;
  key.gathered = true;
  ++key.number;
  key.declared = key.remaining = 0;
  return true;
}

/// A release operator has ended.
/// @param declared  the count of uses that it was given; below 1 counts as 1. The first of a cycle is the one that
/// counts
///                  down.
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
