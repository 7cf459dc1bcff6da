// The recorder's end of the connection to a process in standby.
#pragma once

#include <sys/types.h>

#include <functional>
#include <span>
#include <string>

#include "collector/agent/standby_protocol.h"
#include "trace/base/descriptor.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// A connection to one process. Thread-safety: none.
class StandbyConnection {
 public:
  /// kCannotRecord in one line if the process does not exist, belongs to another user, or has no socket.
  static Expected<StandbyConnection> open(pid_t pid);

  /// Sends a request, with copies of the descriptors.
  Status send(const agent::StandbyRequest& request, std::span<const int> descriptors = {});
  /// Waits for an answer; nullptr if the process has closed the connection. A refusal is kCannotRecord with its reason.
  /// `waits_on` is called every tenth of a second: false cancels (kStopped).
  Expected<agent::StandbyReply> receive(const std::function<bool()>& waits_on);
  /// Asks the process to end its recording, and waits until its hooks are removed: kStopped after five seconds.
  /// `waits_on` as in receive().
  Status detach(const std::function<bool()>& waits_on);
  /// The process has closed the connection, or has sent something.
  [[nodiscard]] bool has_ended() const;

 private:
  StandbyConnection(pid_t pid, Descriptor socket) : pid_(pid), socket_(std::move(socket)) {}

  pid_t pid_;
  Descriptor socket_;
};

/// A request of this build, with only its kind set.
agent::StandbyRequest standby_request(agent::Ask ask);

}  // namespace dcmt::recorder
