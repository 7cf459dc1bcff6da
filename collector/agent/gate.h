// The gate: one word that says whether this process records. It lies on a page that the kernel hands to a forked child
// as zeros, so a child is silent without any code of ours running at the fork. What else every hook looks at lies
// beside it: between two hooks torch runs long enough for each line that they touch to have left the nearest cache.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/agent/api.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::agent {

enum class GateState : std::uint32_t {
  kWiped = 0,  ///< a forked child, or no gate has been made yet
  kOpen = 1,
  kClosed = 2,
};

struct alignas(4096) HotPage {
  std::atomic<std::uint32_t> gate;             ///< GateState
  std::atomic<std::uint32_t> objects_changed;  ///< something was loaded, and nobody has looked at it yet
  std::uint16_t session;                       ///< of the recording that the gate opens for, from 1
  Detail detail;                               ///< set before the gate opens
  /// Small blocks have a record each: by these a recorder that attaches separates them from what was there before.
  std::atomic<bool> every_block;
  /// No storage or block below has records of its own, by its size. Set before the gate opens; less once small sizes
  /// are followed.
  std::atomic<std::uint64_t> smallest_followed;
  std::atomic<std::uint64_t> followed_sizes[kSizeClasses / 64];  ///< a bit for each class that is
};

/// False if the kernel cannot wipe the page on fork. Called once, before open_gate().
bool make_gate() noexcept;
void open_gate() noexcept;
void close_gate() noexcept;

// Defined with constinit. NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern DCMT_AGENT_API HotPage g_hot;

/// As the recorder has asked for, of sizes below kFollowedBytes.
DCMT_AGENT_API bool follows_small_size(std::uint64_t bytes) noexcept;

/// True once in a forked child, the first time it is asked there.
bool take_wiped_gate() noexcept;

inline bool gate_open() noexcept {
  return g_hot.gate.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(GateState::kOpen);
}

}  // namespace dcmt::agent
