#pragma once

#include <time.h>

#include <cstdint>

#include "trace/arch/arch.h"

namespace dcmt::agent {

using arch::cycles;

inline std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// CPU time of this thread: the cost of work for others, without the time that it waited for a core.
inline double thread_cpu_seconds() noexcept { return static_cast<double>(nanoseconds(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

/// The cycle counter and the monotonic clock, read at about the same time.
struct ClockSample {
  std::uint64_t tsc;
  std::uint64_t monotonic_ns;
  std::uint64_t apart;  ///< cycles between the two reads; if high, the thread was interrupted: read again
};

inline ClockSample sample_clock() noexcept {
  const std::uint64_t before = cycles();
  const std::uint64_t monotonic_ns = nanoseconds(CLOCK_MONOTONIC);
  const std::uint64_t apart = cycles() - before;
  return {before + apart / 2, monotonic_ns, apart};
}

}  // namespace dcmt::agent
