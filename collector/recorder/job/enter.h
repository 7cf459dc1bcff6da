// Getting a connection to a process that is to be recorded: to one in standby, or one that is put there.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "collector/recorder/job/standby_connection.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct Entering {
  std::string entry;   ///< library that puts its process in standby; empty: none is put in
  bool waits = false;  ///< for a process that has not loaded torch yet
  /// Asked all the while: false gives up.
  std::function<bool()> goes_on = [] { return true; };
};

/// Until its libraries are loaded; the agent waits for the rest of the import. kCannotRecord in one line for a process
/// that has ended, is stopped, or cannot come to have torch, and where it was given up.
Status wait_for_torch(pid_t pid, const Entering& entering);

/// Where the process is just importing torch and `waits`, it is tried again for a while. kCannotRecord in one line
/// where it cannot be attached to.
Expected<StandbyConnection> connect(pid_t pid, const Entering& entering);

/// Whether that would do, as far as can be seen without touching the process.
Status check_can_attach(pid_t pid, const std::string& entry);

}  // namespace dcmt::recorder
