// Lets a thread of another process call a function, as if a signal handler did it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/recorder/target/entry_code.h"
#include "collector/scan/memory/memory_source.h"

namespace dcmt::recorder {

/// The result for one thread.
enum class Borrowed {
  kCalls,    ///< the thread is about to run the function, and is no longer traced
  kNotNow,   ///< the thread is not, or no longer, in a place where it can be borrowed
  kRefused,  ///< the kernel does not allow tracing it
};

/// True if a line of /proc/PID/task/TID/syscall shows a thread that sleeps in a wait which the kernel restarts
/// unchanged after an interruption. Locks (futex_wait) and waits that return EINTR to their program do not count.
/// @param with_time_limit  also accept waits that may last longer than requested after a restart
bool can_be_borrowed(const std::string& line, bool with_time_limit);

/// Threads of the process that sleep in such a wait, the best ones first.
std::vector<pid_t> threads_to_borrow(pid_t pid);

/// Threads of the process that are running or runnable.
std::vector<pid_t> threads_at_work(pid_t pid);

/// A function of that process and its arguments: a text or a number, and another number.
struct ThreadCall {
  std::uint64_t function = 0;
  std::string text;  ///< its address is the first argument; empty: `first` is the first argument
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// Call it before the first call_by(), in a process that does nothing else. The kernel then wakes this process at once
/// when a thread stops, and does not preempt it while one is stopped, as far as the user's rights allow.
void get_ready_to_borrow();

/// Stops the thread, prepares the call on its stack, and lets it continue. The thread returns to its wait by itself;
/// the function's result is lost.
///
/// The thread is stopped for usually less than a millisecond, and never longer than the caller lives: if the calling
/// process ends in any way, the thread continues, with or without the call. Call this in a process that does nothing
/// else.
/// @param code  of that process. A running thread is borrowed only inside `python_loop`, so it needs some tries
/// @param regions  of the process, for the free space on the thread's stack
Borrowed call_by(pid_t pid, pid_t thread, const EntryCode& code, const ThreadCall& call,
                 const std::vector<scan::Region>& regions);

}  // namespace dcmt::recorder
