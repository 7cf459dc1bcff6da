// Puts a process in standby that was not started in standby, without a debugger.
#pragma once

#include <optional>
#include <string>

#include "collector/recorder/target/target_process.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// The reason why the process cannot be entered, as far as that can be checked without touching it; nothing if there is
/// none.
std::optional<Obstacle> injection_obstacle(const TargetProcess& target);

/// Lets a thread of the process load the library, and waits until the process is in standby. If the process sees other
/// files, the agent beside the library is transferred as memory. The process is stopped at most for the short time in
/// which a thread is given a call; if this fails, the process is unchanged. kCannotRecord in one line, kStopped if none
/// of its threads slept for a while.
Status inject(const TargetProcess& target, const std::string& library);

}  // namespace dcmt::recorder
