// Which allocations are sampled, and the records of these.
//
// Bytes are sampled, as a Poisson process: each byte that a thread allocates is chosen with the same probability,
// independent of all others, and an allocation is recorded if one of its bytes is. So an allocation of n bytes is
// recorded with the probability 1 - exp(-n / interval).
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/native/sampled_addresses.h"
#include "trace/wire/records.h"

namespace dcmt::native_provider {

struct ThreadSampling {
  std::int64_t left;       ///< bytes until the next chosen one
  std::uint64_t interval;  ///< that `left` was drawn with; 0: the thread has allocated nothing yet
  std::uint64_t random;    ///< state of its random numbers
};

// In the static TLS block: a thread's first use must not allocate.
extern constinit thread_local ThreadSampling t_sampling __attribute__((tls_model("initial-exec")));
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern SampledAddresses g_sampled;

/// False if there is no memory for the table. Call it before any hook is in place.
bool prepare_sampling() noexcept;
/// A new recording begins: the interval is the shortest one again.
void restart_sampling() noexcept;
/// From here on nothing is sampled, and nothing ends.
void stop_sampling() noexcept;

/// The thread has allocated a chosen byte, or has not drawn one yet.
void sample(wire::NativeCall call, const void* address, std::size_t bytes) noexcept;
/// A sampled allocation may end. True if it did, and its record is written.
bool end_sampled(const void* address) noexcept;
/// What end_sampled() has ended goes on.
void go_on(const void* address) noexcept;

/// For an allocation that has succeeded.
inline void allocated(wire::NativeCall call, const void* address, std::size_t bytes) noexcept {
  // An address that is handed out again was freed where no hook is.
  if (g_sampled.may_have(address)) [[unlikely]]
    end_sampled(address);
  if ((t_sampling.left -= static_cast<std::int64_t>(bytes)) < 0) [[unlikely]]
    sample(call, address, bytes);
}

/// Call it before the memory is given back.
inline void freed(const void* address) noexcept {
  if (g_sampled.may_have(address)) [[unlikely]]
    end_sampled(address);
}

}  // namespace dcmt::native_provider
