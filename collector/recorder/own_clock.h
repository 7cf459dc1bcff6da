// The recorder's own look at the clocks of the machine.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>
#include <optional>

#include "collector/recorder/assembler.h"

namespace dcmt::recorder {

/// All clocks at one moment, or nothing if this thread was interrupted while it looked.
inline std::optional<ClockTriple> read_own_clock() {
  constexpr std::uint64_t kMaxCycles = 20'000;
  const auto ns = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
  };
  const std::uint64_t before = __rdtsc();
  const std::uint64_t monotonic = ns(CLOCK_MONOTONIC);
  const std::uint64_t after = __rdtsc();
  if (after - before > kMaxCycles) return std::nullopt;
  return ClockTriple{before + (after - before) / 2, monotonic, ns(CLOCK_REALTIME)};
}

}  // namespace dcmt::recorder
