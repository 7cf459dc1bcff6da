#include "collector/recorder/job/attach.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/human_text.h"
#include "collector/recorder/job/attached.h"
#include "collector/recorder/job/enter.h"
#include "collector/recorder/job/local_folder.h"
#include "collector/recorder/job/move_trace.h"
#include "collector/recorder/job/run_claim.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/session.h"
#include "collector/recorder/job/standby_connection.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/process_table.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/quantities.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

/// Restarts the line of a terminal.
constexpr char kClearLine[] = "\r\033[K";

using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(10);
constexpr std::size_t kManyRecords = 20'000;
constexpr auto kStatusEvery = std::chrono::milliseconds(250);
/// A process that needs longer to remove its hooks is stopped, or busy in a long call.
constexpr auto kMostUntilEnd = std::chrono::seconds(5);
/// After the condition of `--when`, a program without steps is recorded for this long.
constexpr auto kMostWithoutStep = std::chrono::seconds(60);

/// Signals that ask this process to end; it detaches then. They are blocked until the process ends.
class StopSignals {
 public:
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signal(SIGPIPE, SIG_IGN);
    fd_ = Descriptor(signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  }

  /// Waits for a second signal.
  void forget() { came_ = false; }
  bool came() {
    signalfd_siginfo info{};
    came_ = came_ || read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
    return came_;
  }

 private:
  Descriptor fd_;
  bool came_ = false;
};

RunState state_of(const std::vector<std::string>& command, const TraceFolders& folders) {
  RunState state;
  if (folders.moves()) state.local_folder = folders.local;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.host = this_host();
  state.boot = this_boot();
  state.command = command;
  state.state = "recording";
  return state;
}

/// The processes of one `attach`, recorded together.
class Recording {
 public:
  explicit Recording(const AttachOptions& options) : options_(options) {}

  /// Checks that the processes can be attached to, and connects to them, unless a condition must be met first.
  Status prepare(StopSignals& signals) {
    const auto began = Clock::now();
    const Entering entering{
        options_.entry, options_.waits,
        [&, began] { return !signals.came() && (!options_.duration || Clock::now() - began < *options_.duration); }};
    for (const pid_t pid : options_.pids) {
      if (options_.waits) DCMT_RETURN_IF_ERROR(wait_for_torch(pid, entering));
      if (options_.when) DCMT_RETURN_IF_ERROR(check_can_attach(pid, options_.entry));
    }
    return options_.when ? Status{} : connect_all(entering);
  }

  /// Begins recording all of them; an error says why that failed.
  Status begin(StopSignals& signals, const OperatorTables& operators, RunState& state) {
    if (options_.when) {
      DCMT_ASSIGN_OR_RETURN(watched_, wait_armed(signals));
      DCMT_RETURN_IF_ERROR(connect_all({options_.entry, options_.waits, [&] { return !signals.came(); }}));
    }
    for (Attached& each : all_) DCMT_RETURN_IF_ERROR(each.ask(operators));
    const Meanwhile meanwhile = [&] { return !signals.came() && drains_(); };
    for (Attached& each : all_) DCMT_RETURN_IF_ERROR(each.begin(operators, state, meanwhile));
    return {};
  }

  /// Drops all: processes that are recorded already notice that and continue without us.
  void abandon() { all_.clear(); }

  /// Records until all have ended, each for its own reason.
  Status record(StopSignals& signals) {
    const bool shows = shows_status();
    if (!options_.when) counts_from_ = Clock::now();
    auto last_status = Clock::now();
    while (!signals.came() && !is_time_over()) {
      DCMT_ASSIGN_OR_RETURN(const std::size_t drained, drain());
      DCMT_RETURN_IF_ERROR(check_condition());
      bool goes_on = false;
      for (Attached& each : all_) {
        if (each.is_over()) continue;
        if (each.has_ended()) {
          DCMT_RETURN_IF_ERROR(each.finish(false));
        } else if (each.has_its_steps()) {
          DCMT_RETURN_IF_ERROR(leave({&each}, signals));
        } else {
          goes_on = true;
        }
      }
      if (!goes_on) break;
      if (shows && Clock::now() - last_status > kStatusEvery) {
        show_status();
        last_status = Clock::now();
      }
      if (drained < kManyRecords) std::this_thread::sleep_for(kPause);
    }
    if (shows) fputs(kClearLine, stderr);
    std::vector<Attached*> left;
    for (Attached& each : all_) {
      if (!each.is_over()) left.push_back(&each);
    }
    return leave(left, signals);
  }

  [[nodiscard]] AttachResult result() const {
    AttachResult result;
    result.is_met = counts_from_.has_value();
    for (const Attached& each : all_) {
      result.traces.push_back(each.trace());
      result.steps = std::max(result.steps, each.totals().steps);
    }
    return result;
  }

 private:
  Expected<std::size_t> drain() {
    std::size_t drained = 0;
    for (Attached& each : all_) {
      DCMT_ASSIGN_OR_RETURN(const std::size_t of_one, each.drain());
      drained += of_one;
    }
    return drained;
  }

  [[nodiscard]] bool shows_status() const { return !options_.quiet && isatty(STDERR_FILENO) != 0; }

  Status connect_all(const Entering& entering) {
    for (const pid_t pid : options_.pids) {
      DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, connect(pid, entering));
      DCMT_ASSIGN_OR_RETURN(TargetProcess target, inspect_process(pid));
      all_.emplace_back(options_, std::move(target), std::move(connection));
    }
    return {};
  }

  /// Waits until a process comes near the condition.
  Expected<Watched> wait_armed(StopSignals& signals) {
    auto last_status = Clock::now();
    auto watched = wait_until_near(*options_.when, options_.pids, [&](const Watched& now) {
      if (shows_status() && Clock::now() - last_status > kStatusEvery) {
        fprintf(stderr, "%swaits for %s · rss %s at most", kClearLine, text_of(options_.when->condition).c_str(),
                rounded_bytes(now.highest_resident).c_str());
        last_status = Clock::now();
      }
      return !signals.came();
    });
    if (shows_status()) fputs(kClearLine, stderr);
    return watched;
  }

  [[nodiscard]] std::int64_t steps() const {
    std::int64_t most = 0;
    for (const Attached& each : all_) most = std::max(most, each.totals().steps);
    return most;
  }

  [[nodiscard]] bool is_time_over() const {
    if (!counts_from_) return false;
    const auto time = Clock::now() - *counts_from_;
    if (options_.duration) return time >= *options_.duration;
    return options_.when && time >= kMostWithoutStep && steps() == steps_when_met_;
  }

  Status check_condition() {
    if (!options_.when || counts_from_) return {};
    const auto meets = [&](Attached& each) { return each.past_is_known() && each.meets(options_.when->condition); };
    const auto first = std::ranges::find_if(all_, meets);
    if (first == all_.end()) return {};
    counts_from_ = Clock::now();
    steps_when_met_ = steps();
    const std::string note = note_of(*options_.when, watched_, first->totals().steps);
    for (Attached& each : all_) DCMT_RETURN_IF_ERROR(each.met(note));
    return {};
  }

  /// Leaves these processes and finishes their traces.
  Status leave(const std::vector<Attached*>& leaving, StopSignals& signals) {
    // What a program had before is found by a reading, during which the program must be recorded.
    signals.forget();
    const auto waits = [](const Attached* each) { return !each->past_is_known() && !each->has_ended(); };
    while (std::ranges::any_of(leaving, waits) && !signals.came()) {
      DCMT_RETURN_IF_ERROR(drain().status());
      std::this_thread::sleep_for(kPause);
    }
    for (Attached* each : leaving) {
      const bool ended = each->has_ended();
      if (!ended) DCMT_RETURN_IF_ERROR(each->leave(drains_));
      DCMT_RETURN_IF_ERROR(each->finish(!ended));
    }
    return {};
  }

  void show_status() const {
    Totals sum;
    std::uint64_t lost = 0;
    for (const Attached& each : all_) {
      const Totals totals = each.totals();
      sum.steps = std::max(sum.steps, totals.steps);
      sum.records += totals.records;
      sum.peak_bytes = std::max(sum.peak_bytes, totals.peak_bytes);
      lost += each.lost();
    }
    const std::string waits =
        options_.when && !counts_from_ ? "waits for " + text_of(options_.when->condition) + " · " : "";
    fprintf(stderr, "%s%sstep %ld · %s records · %ld lost · peak %s", kClearLine, waits.c_str(),
            static_cast<long>(sum.steps), human_count(sum.records).c_str(), static_cast<long>(lost),
            rounded_bytes(sum.peak_bytes).c_str());
  }

  const AttachOptions& options_;
  std::deque<Attached> all_;
  Watched watched_;
  /// Begin of the requested duration; not before the condition is met, if there is one.
  std::optional<Clock::time_point> counts_from_;
  std::int64_t steps_when_met_ = 0;
  const Meanwhile drains_ = [this] { return drain().ok(); };
};

/// Moves finished traces to the output folder. An error says where a trace is instead; a later report tries again.
Status move_traces(const TraceFolders& folders, RunState& state, std::vector<std::string>& traces) {
  Status failed;
  for (std::string& trace : traces) {
    const std::string before = std::filesystem::path(trace).filename().string();
    const Expected<std::string> moved = move_trace(trace, folders.output);
    if (!moved.ok()) {
      failed = moved.error();
      continue;
    }
    trace = *moved;
    for (auto& [source, name] : state.traces) {
      if (name == before) name = std::filesystem::path(trace).filename().string();
    }
  }
  if (failed.ok()) {
    state.local_folder.clear();
    remove_local_folder(folders.local);
    return {};
  }
  state.recorder_pid = 0;
  (void)save_run(folders.output, state);
  return failed;
}

}  // namespace

Expected<AttachResult> attach(const AttachOptions& options) {
  StopSignals signals;
  Recording recording(options);
  DCMT_RETURN_IF_ERROR(recording.prepare(signals));
  std::vector<std::string> tables = options.operator_tables;
  tables.push_back(options.shipped_operators);
  DCMT_ASSIGN_OR_RETURN(const OperatorTables operators, compile_operator_tables(tables));
  DCMT_ASSIGN_OR_RETURN(const TraceFolders folders, prepare_folders(options.folder, options.scratch));
  DCMT_ASSIGN_OR_RETURN(const TargetProcess first, inspect_process(options.pids.front()));
  RunState state = state_of(first.command, folders);
  if (const Status claimed = claim_run_folder(options.folder, options.replace, launch_of_environment(), state);
      !claimed.ok()) {
    if (folders.moves()) remove_local_folder(folders.local);
    return claimed.error();
  }
  if (const Status begun = recording.begin(signals, operators, state); !begun.ok()) {
    recording.abandon();
    for (const auto& [source, trace] : state.traces) {
      remove_trace(folders.local + "/" + trace);
    }
    if (folders.moves()) remove_local_folder(folders.local);
    unlink((options.folder + "/" + state.file).c_str());  // nothing was recorded
    return begun.error();
  }
  DCMT_RETURN_IF_ERROR(recording.record(signals));
  AttachResult result = recording.result();
  if (folders.moves()) DCMT_RETURN_IF_ERROR(move_traces(folders, state, result.traces));
  state.state = "finished";
  DCMT_RETURN_IF_ERROR(save_run(options.folder, state));
  return result;
}

Expected<StandbyState> standby_state(pid_t pid) {
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
  DCMT_RETURN_IF_ERROR(connection.send(standby_request(agent::Ask::kDetach)));
  const auto until = Clock::now() + kMostUntilEnd;
  return connection.receive([&] { return Clock::now() < until; }).status();
}

}  // namespace dcmt::recorder
