#include "collector/recorder/job/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/human_text.h"
#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/run_claim.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/session.h"
#include "collector/recorder/job/standby_connection.h"
#include "collector/recorder/job/trace_names.h"
#include "collector/recorder/target/inject.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/process_table.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/read_file.h"
#include "trace/spool/layout.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(10);
constexpr std::size_t kManyRecords = 20'000;
constexpr auto kStatusEvery = std::chrono::milliseconds(250);
/// A process that takes longer to begin is busy in one long call, or stopped.
constexpr auto kMostUntilBegin = std::chrono::seconds(60);
/// And one that takes longer to put back what it hooked.
constexpr auto kMostUntilEnd = std::chrono::seconds(5);
constexpr char kInTheProcess[] = "attached";  ///< stands for the spool's file, which has no path

/// Signals that ask this process to end, which then detaches. Blocked until the process ends.
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

  /// A second one is waited for.
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

Error cannot(const std::string& what) { return {ErrorCode::kCannotRecord, what + ": " + std::strerror(errno)}; }

Expected<Descriptor> make_memory(const char* name) {
  constexpr unsigned kNoExec = 0x0008U;  // MFD_NOEXEC_SEAL: some systems demand it, kernels before 6.3 do not know it
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExec);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return cannot("no memory for the spool");
  return Descriptor(fd);
}

/// All of it allocated: a process that writes into a hole when there is no memory left would be ended for it.
Expected<Descriptor> make_spool(std::uint32_t chunks) {
  DCMT_ASSIGN_OR_RETURN(Descriptor memory, make_memory("dc-memtrace-spool"));
  const int failure = posix_fallocate(memory.get(), 0, static_cast<off_t>(spool::file_bytes(chunks)));
  if (failure != 0 || fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    if (failure != 0) errno = failure;
    return cannot("no memory for the spool; a smaller one is asked for with --spool-mib");
  }
  return memory;
}

Expected<Descriptor> make_operators(const std::string& text) {
  DCMT_ASSIGN_OR_RETURN(Descriptor memory, make_memory("dc-memtrace-operators"));
  if (write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return cannot("no memory for the table of operators");
  }
  return memory;
}

/// Under Yama's scope 1 a process is read by who started it, or by whom it names.
bool needs_permission() { return read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0").starts_with('1'); }

RunState state_of(const std::vector<std::string>& command) {
  RunState state;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.host = this_host();
  state.boot = this_boot();
  state.command = command;
  state.state = "recording";
  return state;
}

/// Asked while another process is waited for: false gives up.
using Meanwhile = std::function<bool()>;

/// One recording of one process.
class Attached {
 public:
  Attached(const AttachOptions& options, TargetProcess target, StandbyConnection connection)
      : options_(options), target_(std::move(target)), connection_(std::move(connection)) {}

  /// Asks the process to record.
  Status ask(const OperatorTables& operators) {
    const std::uint32_t chunks = options_.spool_mib * 16;
    DCMT_ASSIGN_OR_RETURN(memory_, make_spool(chunks));
    DCMT_ASSIGN_OR_RETURN(const Descriptor table, make_operators(operators.agent));
    agent::StandbyRequest request = standby_request(agent::Ask::kAttach);
    request.detail = static_cast<std::uint32_t>(options_.detail);
    request.chunk_count = chunks;
    request.exit_wait = options_.exit_wait;
    request.may_trace = options_.owners && needs_permission() ? 1 : 0;
    options_.prepared.copy(request.prepared, sizeof request.prepared - 1);
    const std::array<int, 2> descriptors{memory_.get(), table.get()};
    return connection_.send(request, descriptors);
  }

  /// From here on the process records, or an error says why not.
  Status begin(StopSignals& signals, const OperatorTables& operators, RunState& state, const Meanwhile& meanwhile) {
    const auto until = Clock::now() + kMostUntilBegin;
    const Expected<agent::StandbyReply> reply =
        connection_.receive([&] { return !signals.came() && Clock::now() < until && meanwhile(); });
    if (!reply.ok() && reply.error().code == ErrorCode::kStopped && !signals.came()) {
      return Error{ErrorCode::kCannotRecord, reply.error().message + ": it is stopped, or busy in one long call"};
    }
    DCMT_RETURN_IF_ERROR(reply.status());
    const std::string source = fmt::format("{}-{}", kInTheProcess, target_.pid);
    DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool,
                          spool::SpoolReader::open_memory(source, memory_.get(), spool::Purpose::kDrain));
    const spool::ProcessFacts facts = spool.facts();
    const int rank = facts.rank >= 0 ? facts.rank : target_.launch.rank;
    const int world_size = facts.world_size >= 0 ? facts.world_size : target_.launch.world_size;
    const std::string name =
        unused_trace_name(rank, static_cast<std::uint32_t>(target_.pid), [&](const std::string& each) {
          std::error_code error;
          return fs::exists(fs::symlink_status(options_.folder + "/" + each, error));
        });
    state.traces[source] = name;
    DCMT_RETURN_IF_ERROR(save_run(options_.folder, state));
    DCMT_ASSIGN_OR_RETURN(
        recorder_, ProcessRecorder::start(std::move(spool), options_.folder + "/" + name,
                                          {target_.command, operators.origins, rank, world_size}, options_.retention));
    if (options_.owners) recorder_->read_memory_of(target_.pid, options_.layouts);
    recorder_->begin_with_past();
    return {};
  }

  /// Takes what the process has published; how many records.
  Expected<std::size_t> drain() {
    if (recorder_ == nullptr || is_over_) return std::size_t{0};
    DCMT_ASSIGN_OR_RETURN(const std::size_t drained, recorder_->poll());
    if (recorder_->past_is_known() && !std::exchange(past_reported_, true) && !has_ended()) {
      // A process that is just ending does not hear it.
      (void)connection_.send(standby_request(agent::Ask::kPastKnown)).ok();
    }
    return drained;
  }

  /// The first step had begun when we came.
  [[nodiscard]] bool has_its_steps() const { return options_.steps != 0 && totals().steps > options_.steps; }
  /// The process has left the connection, or somebody else has detached from it.
  [[nodiscard]] bool has_ended() const { return is_over_ || connection_.has_ended(); }
  [[nodiscard]] bool past_is_known() const { return recorder_->past_is_known(); }
  [[nodiscard]] Totals totals() const { return recorder_->totals(); }
  [[nodiscard]] std::uint64_t lost() const { return recorder_->spool().lost(); }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] const std::string& trace() const { return recorder_->trace_path(); }

  /// The process puts back what it hooked. Its records are published then.
  Status leave(const Meanwhile& meanwhile) {
    recorder_->begin_no_reading();
    const Status sent = connection_.send(standby_request(agent::Ask::kDetach));
    if (!sent.ok()) return connection_.has_ended() ? Status{} : sent;
    const auto until = Clock::now() + kMostUntilEnd;
    const auto reply =
        connection_.receive([&] { return Clock::now() < until && recorder_->poll().ok() && meanwhile(); });
    return reply.ok() || connection_.has_ended() ? Status{} : reply.status();
  }

  /// The trace is finished. `left`: we have left the process, not it us.
  Status finish(bool left) {
    is_over_ = true;
    // A process that ends closes the connection as one does that somebody else has detached from.
    constexpr int kMostPauses = 20;
    for (int i = 0; !left && i < kMostPauses && recorder_->spool().state() != spool::AgentState::kFinished; ++i) {
      if (!ProcessRecorder::is_alive(recorder_->spool().facts())) break;
      std::this_thread::sleep_for(kPause);
    }
    const bool lives = ProcessRecorder::is_alive(recorder_->spool().facts());
    return recorder_->finish(lives ? "still running" : recorder_->unseen_exit(), "finished");
  }

 private:
  const AttachOptions& options_;
  TargetProcess target_;
  StandbyConnection connection_;
  Descriptor memory_;
  std::unique_ptr<ProcessRecorder> recorder_;
  bool past_reported_ = false;  ///< to the process: that what it had before is known
  bool is_over_ = false;
};

/// The processes of one `attach`, recorded together.
class Recording {
 public:
  explicit Recording(const AttachOptions& options) : options_(options) {}

  Status open() {
    for (const pid_t pid : options_.pids) {
      DCMT_ASSIGN_OR_RETURN(TargetProcess target, look_at(pid));
      if (command_.empty()) command_ = target.command;
      DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, connect(target));
      all_.emplace_back(options_, std::move(target), std::move(connection));
    }
    return {};
  }

  [[nodiscard]] const std::vector<std::string>& command() const { return command_; }

  Status begin(StopSignals& signals, const OperatorTables& operators, RunState& state) {
    for (Attached& each : all_) DCMT_RETURN_IF_ERROR(each.ask(operators));
    for (Attached& each : all_) DCMT_RETURN_IF_ERROR(each.begin(signals, operators, state, drains_));
    return {};
  }

  /// Those that record already notice, and go on without us.
  void abandon() { all_.clear(); }

  /// Until all that are recorded have ended, each for its own reason.
  Status record(StopSignals& signals) {
    const bool shows = !options_.quiet && isatty(STDERR_FILENO) != 0;
    const auto began = Clock::now();
    auto last_status = began;
    while (!signals.came() && (!options_.duration || Clock::now() - began < *options_.duration)) {
      DCMT_ASSIGN_OR_RETURN(const std::size_t drained, drain());
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
    for (const Attached& each : all_) {
      result.traces.push_back(each.trace());
      result.steps = std::max(result.steps, each.totals().steps);
    }
    return result;
  }

 private:
  /// To a process in standby, or one that is put there.
  [[nodiscard]] Expected<StandbyConnection> connect(const TargetProcess& target) const {
    Expected<StandbyConnection> connection = StandbyConnection::open(target.pid);
    const bool may_enter = !options_.entry.empty() && target.has_torch && !target.has_agent && !obstacle_of(target);
    if (connection.ok() || !may_enter) return connection;
    DCMT_RETURN_IF_ERROR(inject(target, options_.entry));
    return StandbyConnection::open(target.pid);
  }

  Expected<std::size_t> drain() {
    std::size_t drained = 0;
    for (Attached& each : all_) {
      DCMT_ASSIGN_OR_RETURN(const std::size_t of_one, each.drain());
      drained += of_one;
    }
    return drained;
  }

  /// Leaves these, and finishes their traces.
  Status leave(const std::vector<Attached*>& leaving, StopSignals& signals) {
    // What a program had before is found in a reading during which it is recorded.
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
    fprintf(stderr, "%sstep %ld · %s records · %ld lost · peak %s", kClearLine, static_cast<long>(sum.steps),
            human_count(sum.records).c_str(), static_cast<long>(lost), human_bytes(sum.peak_bytes).c_str());
  }

  const AttachOptions& options_;
  std::deque<Attached> all_;
  std::vector<std::string> command_;  ///< of the first one
  const Meanwhile drains_ = [this] { return drain().ok(); };
};

}  // namespace

Expected<AttachResult> attach(const AttachOptions& options) {
  StopSignals signals;
  Recording recording(options);
  DCMT_RETURN_IF_ERROR(recording.open());
  std::vector<std::string> tables = options.operator_tables;
  tables.push_back(options.shipped_operators);
  DCMT_ASSIGN_OR_RETURN(const OperatorTables operators, compile_operator_tables(tables));
  DCMT_RETURN_IF_ERROR(check_can_hold_traces(options.folder));
  RunState state = state_of(recording.command());
  DCMT_RETURN_IF_ERROR(claim_run_folder(options.folder, options.replace, launch_of_environment(), state));
  if (const Status begun = recording.begin(signals, operators, state); !begun.ok()) {
    recording.abandon();
    for (const auto& [source, trace] : state.traces) {
      for (const char* part : {"", "-wal", "-shm"}) unlink((options.folder + "/" + trace + part).c_str());
    }
    unlink((options.folder + "/" + state.file).c_str());  // nothing was recorded
    return begun.error();
  }
  DCMT_RETURN_IF_ERROR(recording.record(signals));
  state.state = "finished";
  DCMT_RETURN_IF_ERROR(save_run(options.folder, state));
  return recording.result();
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
  DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, StandbyConnection::open(pid));
  DCMT_RETURN_IF_ERROR(connection.send(standby_request(agent::Ask::kDetach)));
  const auto until = Clock::now() + kMostUntilEnd;
  return connection.receive([&] { return Clock::now() < until; }).status();
}

}  // namespace dcmt::recorder
