// What /proc says of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dcmt::recorder {

struct ProcessEntry {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start = 0;  ///< clock ticks since boot
  bool leaves = false;      ///< it is on its way out
  std::string name;
};

/// Start time of a live process in clock ticks since boot; 0 if it is gone or a zombie.
std::uint64_t process_start(std::int64_t pid);

/// Whether it is on its way out: it closes what it has open before it is a zombie.
bool is_leaving(std::int64_t pid);

/// Every process that is alive.
std::vector<ProcessEntry> all_processes();

/// The pid that a process has here which calls itself `pid`, perhaps in a pid namespace of its own; 0 if there is none.
pid_t pid_here(std::int64_t pid, std::uint64_t start);

}  // namespace dcmt::recorder
