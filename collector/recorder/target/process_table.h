// Processes as /proc lists them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace dcmt::recorder {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
  bool leaves = false;      ///< it is exiting
  /// Where its first stack began: chosen at random for each program, and inherited by forked children. 0: not known, as
  /// of another user's process.
  std::uint64_t stack = 0;
  std::string name;
};

/// Start time of a live process in clock ticks since boot; 0 if it is gone or a zombie.
std::uint64_t process_start(std::int64_t pid);

/// True if it is exiting: a process closes its files before it becomes a zombie.
bool is_leaving(std::int64_t pid);

/// Every live process.
std::vector<ProcessEntry> all_processes();

/// The processes, and all below them.
std::set<pid_t> with_descendants(std::set<pid_t> of, const std::vector<ProcessEntry>& processes);

/// The pid, in this namespace, of a process whose own pid is `pid`, perhaps in another pid namespace; 0 if there is
/// none.
pid_t pid_here(std::int64_t pid, std::uint64_t start);

}  // namespace dcmt::recorder
