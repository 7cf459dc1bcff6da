#pragma once

#include <time.h>
#include <x86intrin.h>

#include <cstdint>

namespace dcmt::agent {

inline std::uint64_t cycles() noexcept { return __rdtsc(); }

inline std::uint64_t nanoseconds(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace dcmt::agent
