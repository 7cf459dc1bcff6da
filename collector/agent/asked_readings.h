// The wait for the recorder while it reads the memory of the process: at the program's end, and when the program asks.
// The first of these is await_last_reading() of provider.h.
#pragma once

#include <cstdint>

namespace dcmt::agent {

/// How long a program waits at its end, at most. Called before the gate opens.
void set_exit_wait(std::int32_t seconds) noexcept;

/// Waits while the recorder reads the memory of the process, for so many nanoseconds at most and not beyond the next
/// signal. True if it has: a reading that began after this call is over.
bool await_reading(std::uint64_t timeout_ns) noexcept;

}  // namespace dcmt::agent
