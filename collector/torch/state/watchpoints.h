// Hardware watchpoints: words of memory whose changes are reported by the thread that has made them.
//
// The kernel's perf events of type breakpoint are used, with a signal (Linux 5.13): there is no tracer that could die
// and leave them behind, forked children and executed programs do not inherit them, and threads do.
//
// Thread-safety: any thread may set and clear them at any time. Functions do not allocate, except the first.
#pragma once

#include <cstdint>

#include "collector/agent/watchpoint_event.h"

namespace dcmt::torch_provider {

using agent::kWatchpoints;

/// Called on the thread that has written to a watched word, in a signal handler, after the write.
/// @param watchpoint  number of the watchpoint
/// @param place       where the thread was, for stack_at()
/// @param late        the thread had blocked the signal, and may have written more than once
using OnWrite = void (*)(int watchpoint, std::uint64_t address, const void* place, bool late) noexcept;

/// Installs the handler of SIGTRAP, and prepares the watchpoints on all threads, present and future. Restores
/// everything if there are fewer than kWatchpoints.
/// @return  nullptr, or why there are none: static text
const char* make_watchpoints(OnWrite on_write) noexcept;
/// Clears all watchpoints, and restores the handler that was there before, unless somebody else has replaced ours.
void leave_watchpoints() noexcept;

/// Watches the 8 bytes at an address, which is a multiple of 8. False if the kernel refuses it on a thread.
bool set_watchpoint(int watchpoint, std::uint64_t address) noexcept;
bool clear_watchpoint(int watchpoint) noexcept;

/// As agent::native_stack.
std::uint64_t stack_at(const void* place) noexcept;

}  // namespace dcmt::torch_provider
