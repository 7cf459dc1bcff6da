// Restores the terminal if this process ends without having done so: by a crash, or SIGKILL.
#pragma once

#include <sys/types.h>

#include <string>

namespace dcmt::recorder {

/// A small process that gets what to write, and writes it to standard error when this process is gone.
/// Thread-safety: none.
class TerminalGuard {
 public:
  TerminalGuard() = default;
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;
  ~TerminalGuard();

  /// From now on this text restores the terminal; empty: there is nothing to restore. Starts the process when there is
  /// something for the first time; without it, if it cannot be started.
  void restores_by(const std::string& text);

 private:
  void start();

  pid_t pid_ = 0;
  int fd_ = -1;
};

}  // namespace dcmt::recorder
