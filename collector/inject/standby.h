// A process in standby: one thread that sleeps until dc-memtrace asks for a recording. Until then nothing is hooked,
// loaded or allocated.
#pragma once

namespace dcmt::agent {

/// Makes the socket and starts the thread, once in a process. Where that is not possible, nothing happens, and who
/// tries to attach finds no socket then.
void begin_standby() noexcept;

}  // namespace dcmt::agent

/// The same as begin_standby(), for a program that loads this library itself.
extern "C" __attribute__((visibility("default"))) void dcmt_standby();
