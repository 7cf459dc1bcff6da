// One thread of another process loads a library, as if a signal's handler did it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "collector/recorder/target/entry_code.h"
#include "collector/scan/memory/memory_source.h"

namespace dcmt::recorder {

/// How it went with one thread.
enum class Borrowed {
  kLoads,      ///< the thread is on its way into dlopen, and nobody traces it any more
  kNotAsleep,  ///< it is not asleep where it can be borrowed, or no longer
  kRefused,    ///< the kernel does not let us trace it
};

/// Whether a line of /proc/PID/task/TID/syscall says that the thread is asleep in a wait that begins again as it was
/// after an interruption. Not so: locks (futex_wait), and waits that give their program an EINTR.
/// @param with_time_limit  also waits that may last longer than asked for once they have been begun again
bool can_be_borrowed(const std::string& line, bool with_time_limit);

/// Threads of the process that are asleep so, the best ones first.
std::vector<pid_t> threads_to_borrow(pid_t pid);

/// Stops the thread, lays out the call of dlopen(library, RTLD_NOW | RTLD_GLOBAL) on its stack, and lets it go. The
/// thread comes back to its wait by itself.
///
/// It is stopped for less than a millisecond, as a rule, and never longer than the caller lives: whatever ends the
/// calling process lets it go on, with the call or without. To be called in a process of its own, which does nothing
/// else.
/// @param regions  of the process, for the room on the thread's stack
Borrowed load_by(pid_t pid, pid_t thread, const EntryCode& code, const std::string& library,
                 const std::vector<scan::Region>& regions);

}  // namespace dcmt::recorder
