#include "collector/recorder/target/enter.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "collector/recorder/target/inject.h"
#include "collector/recorder/target/target_process.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenAnswers = std::chrono::milliseconds(50);
/// Time from the first library of torch until a program in standby has its socket, or another program has a sleeping
/// thread.
constexpr auto kMostUntilReady = std::chrono::seconds(30);
/// For an agent without a socket: a recorder may have been killed just after it loaded the agent.
constexpr auto kMostUntilSocket = std::chrono::seconds(5);

bool may_enter(const TargetProcess& target, const std::string& entry) {
  return !entry.empty() && target.has_torch && !target.has_agent;
}

/// It may also be a forked child, whose parent has the thread for requests; that cannot be seen from outside.
bool is_being_entered(const TargetProcess& target) {
  return target.has_agent && !target.in_standby && !target.recorded_run;
}

/// A program that may still load torch and get a thread for requests.
bool may_come_to_it(const TargetProcess& target) {
  return !target.has_torch && !target.recorded_run && target.executable != Executable::kStatic &&
         target.executable != Executable::kOtherArchitecture;
}

}  // namespace

Status wait_for_torch(pid_t pid, const InjectOptions& entering) {
  for (;; std::this_thread::sleep_for(kBetweenAnswers)) {
    DCMT_ASSIGN_OR_RETURN(const TargetProcess target, inspect_process(pid));
    if (const auto obstacle = obstacle_of(target)) return refusal(*obstacle);
    if (target.has_torch) return {};
    if (!may_come_to_it(target)) return refusal(why_not_in_standby(target));
    if (!entering.goes_on()) {
      return Error{ErrorCode::kCannotRecord,
                   fmt::format("{} has not imported torch so far: attach when it has", process_text(pid))};
    }
  }
}

Expected<StandbyConnection> connect(pid_t pid, const InjectOptions& entering) {
  const auto began = Clock::now();
  for (;; std::this_thread::sleep_for(kBetweenAnswers)) {
    const auto goes_on_for = [&](Clock::duration most) { return Clock::now() - began < most && entering.goes_on(); };
    const bool again = entering.waits && goes_on_for(kMostUntilReady);
    DCMT_ASSIGN_OR_RETURN(const TargetProcess target, inspect_process(pid));
    Expected<StandbyConnection> connection = StandbyConnection::open(pid);
    if (connection.ok() || obstacle_of(target)) return connection;
    if (may_enter(target, entering.entry)) {
      const Status entered = inject(target, entering.entry);
      if (entered.ok()) return StandbyConnection::open(pid);
      // During the import, it may have no sleeping thread.
      if (!again || entered.error().code != ErrorCode::kStopped) {
        return Error{ErrorCode::kCannotRecord, entered.error().message};
      }
    } else if (target.in_standby || !(again || (is_being_entered(target) && goes_on_for(kMostUntilSocket)))) {
      return connection;
    }
  }
}

Status check_can_attach(pid_t pid, const std::string& entry) {
  DCMT_ASSIGN_OR_RETURN(const TargetProcess target, inspect_process(pid));
  const Expected<StandbyConnection> connection = StandbyConnection::open(pid);
  if (connection.ok() || obstacle_of(target) || !may_enter(target, entry)) return connection.status();
  const auto obstacle = injection_obstacle(target);
  return obstacle ? Status(refusal(*obstacle)) : Status{};
}

}  // namespace dcmt::recorder
