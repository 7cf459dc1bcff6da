// Connects to a process that is to be recorded: one in standby, or one that is put in standby.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "collector/recorder/target/standby_connection.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct InjectOptions {
  std::string entry;   ///< library that puts its process in standby; empty: none
  bool waits = false;  ///< for a process that has not loaded torch yet
  /// Called during the wait: false cancels.
  std::function<bool()> goes_on = [] { return true; };
};

/// Waits until its torch libraries are loaded; the agent waits for the rest of the import. kCannotRecord in one line if
/// the process has ended, is stopped or cannot load torch, or if the wait was cancelled.
Status wait_for_torch(pid_t pid, const InjectOptions& entering);

/// If the process is importing torch and `waits`, tries again for a while. kCannotRecord in one line if it cannot be
/// attached to.
Expected<StandbyConnection> connect(pid_t pid, const InjectOptions& entering);

/// Checks whether connect() could succeed, without touching the process.
Status check_can_attach(pid_t pid, const std::string& entry);

}  // namespace dcmt::recorder
