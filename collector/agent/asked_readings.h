// Waits for the recorder while it reads the memory of the process: at the program's end, when the program requests it,
// and at points of its work (docs/decisions/holders.md). await_last_reading() of provider.h is the wait at the end,
// hold_soon() and hold_at_backward() are those of the work, hold_at_out_of_memory() is the one at a refused request.
#pragma once

#include <cstdint>

namespace dcmt::agent {

/// Sets the limit of the wait at the program's end. Call it before the gate opens.
void set_exit_wait(std::int32_t seconds) noexcept;

/// Sets whether the program is held at points of its work. Call it before the gate opens, with a spool.
void set_holds(bool on) noexcept;

/// Waits until the recorder has read the memory of the process, for at most `timeout_ns` nanoseconds or until the next
/// signal. True if a reading that began after this call is complete.
bool await_reading(std::uint64_t timeout_ns) noexcept;

}  // namespace dcmt::agent
