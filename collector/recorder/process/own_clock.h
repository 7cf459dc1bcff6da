// The recorder's own reading of the machine's clocks.
#pragma once

#include <cstdint>
#include <optional>

#include "collector/agent/clock.h"
#include "collector/recorder/assemble/assembler.h"

namespace dcmt::recorder {

/// The monotonic clock, which all processes of the machine share.
inline std::int64_t now_ns() { return static_cast<std::int64_t>(agent::nanoseconds(CLOCK_MONOTONIC)); }

/// All clocks at one time; nothing if this thread was interrupted during the reading.
inline std::optional<ClockTriple> read_own_clock() {
  constexpr std::uint64_t kMaxCycles = 20'000;
  const agent::ClockSample sample = agent::sample_clock();
  if (sample.apart > kMaxCycles) return std::nullopt;
  return ClockTriple{sample.tsc, sample.monotonic_ns, agent::nanoseconds(CLOCK_REALTIME)};
}

}  // namespace dcmt::recorder
