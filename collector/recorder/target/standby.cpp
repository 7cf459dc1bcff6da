#include "collector/recorder/target/standby.h"

#include <chrono>

#include "collector/recorder/target/standby_connection.h"
#include "collector/recorder/target/target_process.h"

namespace dcmt::recorder {

Expected<StandbyState> standby_state(pid_t pid) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMost = std::chrono::seconds(2);
  DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, StandbyConnection::open(pid));
  DCMT_RETURN_IF_ERROR(connection.send(standby_request(agent::Ask::kStatus)));
  const auto until = Clock::now() + kMost;
  DCMT_ASSIGN_OR_RETURN(const agent::StandbyReply reply, connection.receive([&] { return Clock::now() < until; }));
  return StandbyState{static_cast<agent::Answer>(reply.answer) == agent::Answer::kRecording, reply.recorder,
                      reply.session};
}

Status detach(pid_t pid) {
  DCMT_ASSIGN_OR_RETURN(const TargetProcess target, inspect_process(pid));
  if (!target.in_standby && !target.recorded_run) {
    return Error{ErrorCode::kCannotRecord, process_text(pid) + " is not recorded by attach: there is nothing to end"};
  }
  DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, StandbyConnection::open(pid));
  return connection.detach([] { return true; });
}

}  // namespace dcmt::recorder
