// Costs of short calls, measured with the cycle counter: of each call for percentiles, of many together for the typical
// cost, because some counters advance in steps of ten nanoseconds.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/arch/arch.h"

namespace dcmt::bench {

using arch::cycles;

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

/// Cycles of `count` calls together: finer than the steps in which some counters advance.
template <class Call>
std::uint64_t time_all(std::size_t count, Call&& call) {
  const std::uint64_t from = cycles();
  for (std::size_t i = 0; i < count; ++i) call();
  return cycles() - from;
}

/// The value below which `share` (0 to 1) of `values` lie; reorders them. 0 if there are none.
inline double percentile(std::vector<std::uint64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return static_cast<double>(values[static_cast<std::size_t>(rank)]);
}

/// Cycles that one reading of time_each() holds of its own: the average in the median of some batches.
inline double clock_cycles() {
  std::vector<std::uint64_t> batches(100);
  std::vector<std::uint64_t> readings(1024);
  for (std::uint64_t& batch : batches) {
    batch = 0;
    time_each(readings.data(), readings.size(), [] { asm volatile("" ::: "memory"); });
    for (const std::uint64_t reading : readings) batch += reading;
  }
  return percentile(batches, 0.5) / static_cast<double>(readings.size());
}

}  // namespace dcmt::bench
