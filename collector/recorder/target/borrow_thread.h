// One thread of another process calls a function, as if a signal's handler did it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/recorder/target/entry_code.h"
#include "collector/scan/memory/memory_source.h"

namespace dcmt::recorder {

/// How it went with one thread.
enum class Borrowed {
  kCalls,    ///< the thread is on its way into the function, and nobody traces it any more
  kNotNow,   ///< it is not where it can be borrowed, or no longer
  kRefused,  ///< the kernel does not let us trace it
};

/// Whether a line of /proc/PID/task/TID/syscall says that the thread is asleep in a wait that begins again as it was
/// after an interruption. Not so: locks (futex_wait), and waits that give their program an EINTR.
/// @param with_time_limit  also waits that may last longer than asked for once they have been begun again
bool can_be_borrowed(const std::string& line, bool with_time_limit);

/// Threads of the process that are asleep so, the best ones first.
std::vector<pid_t> threads_to_borrow(pid_t pid);

/// Threads of the process that have a core now, or want one.
std::vector<pid_t> threads_at_work(pid_t pid);

/// A function of that process, and what it is given: a text or a number, and another number.
struct ThreadCall {
  std::uint64_t function = 0;
  std::string text;  ///< its address is the first argument; empty: `first` is
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

/// Before the first call_by() of a process that does nothing else: the kernel wakes it at once when a thread stops, and
/// is not kept from its work while one is stopped, as far as its user may have that.
void get_ready_to_borrow();

/// Stops the thread, lays out the call on its stack, and lets it go. The thread comes back to its wait by itself; what
/// the function returned is lost.
///
/// It is stopped for less than a millisecond, as a rule, and never longer than the caller lives: whatever ends the
/// calling process lets it go on, with the call or without. To be called in a process of its own, which does nothing
/// else.
/// @param code  of that process. A thread that is at work is borrowed where it is in `python_loop`, so it takes some
/// tries
/// @param regions  of the process, for the room on the thread's stack
Borrowed call_by(pid_t pid, pid_t thread, const EntryCode& code, const ThreadCall& call,
                 const std::vector<scan::Region>& regions);

}  // namespace dcmt::recorder
