// Starts the job.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/drive/signal_queue.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// 0 if execvp() would find and may execute `program`; 127 if it does not exist, 126 if it cannot be executed.
int check_executable(const std::string& program);
/// One line for a program that cannot be started, in a shell's words. `code` is from check_executable().
std::string not_started_line(const std::string& program, int code);

/// Forks and executes `command`, with `environment` in addition to this process's. Returns the pid.
Expected<pid_t> start_child(const std::vector<std::string>& command,
                            const std::vector<std::pair<std::string, std::string>>& environment,
                            const SignalQueue& signals);

/// The exit code that a shell would show for a wait status.
int shell_exit_code(int wait_status);

}  // namespace dcmt::recorder
