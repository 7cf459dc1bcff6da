// The gate: a word that says whether this process records. The kernel gives its page to a forked child as zeros, so a
// child does not record, and no code of ours has to run at the fork. The other data that every hook reads lies beside
// it. Between two hooks torch runs long enough to evict each line that they use from the nearest cache.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/agent/api.h"
#include "trace/arch/arch.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::agent {

enum class GateState : std::uint32_t {
  kWiped = 0,  ///< a forked child, or the gate does not exist yet
  kOpen = 1,
  kClosed = 2,
};

struct alignas(arch::kLargestPage) HotPage {
  std::atomic<std::uint32_t> gate;             ///< GateState
  std::atomic<std::uint32_t> objects_changed;  ///< an object was loaded, and no thread has checked for new objects yet
  std::uint16_t session;                       ///< number of the recording that the gate opens for, from 1
  Detail detail;                               ///< set before the gate opens
  bool streams;                                ///< work on streams of GPUs is recorded; likewise
  bool gpu_work;                               ///< the times of kernels and copies are recorded; likewise
  /// true: small blocks have a record each. An attaching recorder uses these to separate them from earlier blocks.
  std::atomic<bool> every_block;
  /// Storages and blocks below this size have no records of their own because of their size. Set before the gate opens;
  /// reduced when small sizes are tracked.
  std::atomic<std::uint64_t> smallest_followed;
  std::atomic<std::uint64_t> next_hold;  ///< the sequence from which on the program is to be held; see asked_readings.h
  std::atomic<std::uint64_t> followed_sizes[kSizeClasses / 64];  ///< a bit for each tracked class of sizes
};

/// False if the kernel cannot wipe the page on fork. Called once, before open_gate().
bool make_gate() noexcept;
void open_gate() noexcept;
void close_gate() noexcept;

// Defined with constinit. NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern DCMT_AGENT_API HotPage g_hot;

/// True if the recorder has asked to track this size below kFollowedBytes.
DCMT_AGENT_API bool follows_small_size(std::uint64_t bytes) noexcept;

/// True once in a forked child: at the first call there.
bool close_wiped_gate() noexcept;

inline bool gate_open() noexcept {
  return g_hot.gate.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(GateState::kOpen);
}

}  // namespace dcmt::agent
