// Starting the job, and passing signals on to it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT in this process and hands them out as they come. A full disk quota and a
/// closed terminal are errors of a write here, not the signals SIGXFSZ and SIGPIPE. The child it starts has the signal
/// mask and actions this process had before.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// A signal meant for the job that it has not got itself, or 0. Ctrl-C on a terminal reaches the job directly.
  int next_for_job();
  /// For the child, between fork and exec.
  void restore() const;

 private:
  int fd_ = -1;
  sigset_t before_{};
  struct sigaction file_size_before_ {};
  struct sigaction pipe_before_ {};
};

/// Forks and executes `command` with `environment` added to this process's. Returns the pid.
Expected<pid_t> start_child(const std::vector<std::string>& command,
                            const std::vector<std::pair<std::string, std::string>>& environment,
                            const SignalQueue& signals);

/// The exit code a shell would show for a wait status.
int shell_exit_code(int wait_status);

}  // namespace dcmt::recorder
