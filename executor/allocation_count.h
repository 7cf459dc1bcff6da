// Counts what a thread allocates and frees on the CPU, as torch reports it to profilers: requested bytes, not rounded.
#pragma once

#include <cstdint>

namespace dcmt::zero3 {

/// Turns counting on or off for the calling thread; counting starts from zero.
void count_allocations(bool on);

struct Allocated {
  std::int64_t now = 0;
  std::int64_t most = 0;  ///< since the last call
};

/// Returns zeros if the calling thread does not count.
Allocated read_allocated();

}  // namespace dcmt::zero3
