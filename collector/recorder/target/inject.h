// Putting a process in standby that was not started so, without a debugger.
#pragma once

#include <optional>
#include <string>

#include "collector/recorder/target/target_process.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// What makes it impossible to get into the process, as far as can be seen without touching it; nothing if there is
/// none.
std::optional<Obstacle> injection_obstacle(const TargetProcess& target);

/// Has a thread of the process load the library, and waits until it is in standby. Where the process sees other files,
/// the agent that lies beside the library goes there as memory. The process is stopped for at most
/// the moment that one of its threads needs to be given a call; it is as it was if this fails. kCannotRecord in one
/// line, kStopped if no thread of it was asleep for a while.
Status inject(const TargetProcess& target, const std::string& library);

}  // namespace dcmt::recorder
