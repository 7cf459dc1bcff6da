// Requests to a process in standby that need no recording.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// The answer of a process in standby.
struct StandbyState {
  bool recorded = false;
  pid_t recorder = 0;           ///< in the process's own namespace; 0: none
  std::int64_t recordings = 0;  ///< recordings begun so far
};

/// kCannotRecord in one line if the process has no socket, kStopped if there is no answer within two seconds.
Expected<StandbyState> standby_state(pid_t pid);

/// Ends the recording of a process, no matter who began it; returns when its hooks are removed. kCannotRecord if no
/// recorder is attached.
Status detach(pid_t pid);

}  // namespace dcmt::recorder
