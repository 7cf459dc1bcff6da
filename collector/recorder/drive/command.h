// The command that `run` has started.
#pragma once

#include <sys/types.h>

#include <optional>

#include "collector/recorder/console/status_line.h"
#include "collector/recorder/drive/signal_queue.h"

namespace dcmt::recorder {

/// Its pid stays in use until its end has been seen. Thread-safety: none.
class Command {
 public:
  /// @param signals, line  must outlive it
  Command(pid_t pid, SignalQueue& signals, StatusLine& line) : pid_(pid), signals_(signals), line_(line) {}

  /// Checks whether it has ended, and passes on the signals that came for it. If its terminal has stopped it, stops
  /// this process, too, until it is continued.
  void follow();
  /// Follows it to its end without recording it. Returns the wait status.
  int wait();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Once it has ended.
  [[nodiscard]] const std::optional<int>& wait_status() const { return wait_status_; }

 private:
  const pid_t pid_;
  SignalQueue& signals_;
  StatusLine& line_;
  std::optional<int> wait_status_;
};

}  // namespace dcmt::recorder
