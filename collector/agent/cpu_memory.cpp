#include "collector/agent/cpu_memory.h"

#include <errno.h>
#include <time.h>

#include <atomic>

#include "collector/agent/clock.h"
#include "collector/agent/hot_path.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {
namespace {

/// Publishes what this thread has done, then asks.
bool asks(spool::CpuMemory& memory, std::uint64_t timeout_ns, bool begins_anew) noexcept {
  constexpr timespec kPause{0, 200'000};
  if (const TorchProvider* torch = torch_provider(); torch != nullptr) torch->before_exact_point();
  const std::uint64_t until = nanoseconds(CLOCK_MONOTONIC) + timeout_ns;
  const std::uint64_t sequence = spool_header()->next_seq.load(std::memory_order_relaxed);
  if (begins_anew) memory.new_peaks.fetch_add(1, std::memory_order_relaxed);
  // Clear the earlier answer: two requests have the same sequence if nothing was recorded between them.
  memory.answered.store(0, std::memory_order_relaxed);
  memory.asked.store(sequence, std::memory_order_release);
  while (memory.answered.load(std::memory_order_acquire) < sequence) {
    if (nanoseconds(CLOCK_MONOTONIC) >= until || !gate_open()) return false;
    nanosleep(&kPause, nullptr);
  }
  return true;
}

}  // namespace

bool ask_cpu_memory(CpuMemoryNow& now, std::uint64_t timeout_ns, bool begins_anew) noexcept {
  if (!recording()) return false;
  const int error = errno;
  const Inside inside;
  spool::CpuMemory& memory = spool_header()->cpu_memory;
  const bool answered = timeout_ns == 0 || asks(memory, timeout_ns, begins_anew);
  const std::uint32_t known = answered ? memory.known.load(std::memory_order_acquire) : 0;
  if (known != 0) {
    now.allocated = memory.allocated.load(std::memory_order_relaxed);
    now.peak = memory.peak.load(std::memory_order_relaxed);
    now.highest = memory.highest.load(std::memory_order_relaxed);
    now.complete = known == 1;
  }
  errno = error;
  return known != 0;
}

}  // namespace dcmt::agent
