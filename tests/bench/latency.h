// Costs of single calls, taken with the cycle counter: percentiles in nanoseconds, the clock's own cost taken off.
#pragma once

#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcmt::bench {

inline std::uint64_t cycles() { return __rdtsc(); }

inline double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Cycles per nanosecond, measured over 50 ms.
inline double cycles_per_ns() {
  const double start = seconds();
  const std::uint64_t from = cycles();
  while (seconds() - start < 0.05) {
  }
  return static_cast<double>(cycles() - from) / ((seconds() - start) * 1e9);
}

/// Writes into `out` the cycles of each of `count` calls. Consecutive readings share one clock read, so a cost holds
/// one clock read and the store of the reading before it.
template <class Call>
void time_each(std::uint64_t* out, std::size_t count, Call&& call) {
  std::uint64_t before = cycles();
  for (std::size_t i = 0; i < count; ++i) {
    call();
    const std::uint64_t after = cycles();
    out[i] = after - before;
    before = after;
  }
}

/// The value below which `share` (0 to 1) of `values` lie; reorders them. 0 if there are none.
inline double percentile(std::vector<std::uint64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return static_cast<double>(values[static_cast<std::size_t>(rank)]);
}

/// Median cycles of time_each() around nothing.
inline double clock_cycles() {
  std::vector<std::uint64_t> empty(100'000);
  time_each(empty.data(), empty.size(), [] { asm volatile("" ::: "memory"); });
  return percentile(empty, 0.5);
}

}  // namespace dcmt::bench
