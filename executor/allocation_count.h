// What a thread allocates and frees on the CPU, as torch tells its profilers: bytes asked for, without rounding.
#pragma once

#include <cstdint>

namespace dcmt::zero3 {

/// For the calling thread, from zero, until it is turned off.
void count_allocations(bool on);

struct Allocated {
  std::int64_t now = 0;
  std::int64_t most = 0;  ///< since the last call
};

/// Zeros if the calling thread does not count.
Allocated take_allocated();

}  // namespace dcmt::zero3
