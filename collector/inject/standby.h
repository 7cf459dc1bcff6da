// A process in standby has a thread that sleeps until dc-memtrace requests a recording. Until then nothing is hooked,
// loaded or allocated.
#pragma once

namespace dcmt::agent {

/// Makes the socket and starts the thread, once in a process. If that is impossible, it does nothing; an attach then
/// fails because there is no socket.
void begin_standby() noexcept;

}  // namespace dcmt::agent

/// The same as begin_standby(), for a program that loads this library itself.
extern "C" __attribute__((visibility("default"))) void dcmt_standby();
