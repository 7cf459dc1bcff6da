#include "collector/recorder/job/attach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/human_text.h"
#include "collector/recorder/job/launch.h"
#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/process_table.h"
#include "collector/recorder/job/run_claim.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/session.h"
#include "collector/recorder/job/standby_connection.h"
#include "collector/recorder/job/trace_names.h"
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

std::vector<std::string> command_of(pid_t pid) {
  std::istringstream file(read_file(fmt::format("/proc/{}/cmdline", pid)).value_or(""));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

RunState state_of(const AttachOptions& options) {
  RunState state;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.host = this_host();
  state.boot = this_boot();
  state.command = command_of(options.pid);
  state.state = "recording";
  return state;
}

/// One recording of one process.
class Attached {
 public:
  Attached(const AttachOptions& options, StandbyConnection connection, RunState state)
      : options_(options), connection_(std::move(connection)), state_(std::move(state)) {}

  /// From here on the process records, or an error says why not.
  Status begin(StopSignals& signals, const OperatorTables& operators) {
    const std::uint32_t chunks = options_.spool_mib * 16;
    DCMT_ASSIGN_OR_RETURN(const Descriptor memory, make_spool(chunks));
    DCMT_ASSIGN_OR_RETURN(const Descriptor table, make_operators(operators.agent));
    agent::StandbyRequest request = standby_request(agent::Ask::kAttach);
    request.detail = static_cast<std::uint32_t>(options_.detail);
    request.chunk_count = chunks;
    request.exit_wait = options_.exit_wait;
    request.may_trace = options_.owners && needs_permission() ? 1 : 0;
    options_.prepared.copy(request.prepared, sizeof request.prepared - 1);
    const std::array<int, 2> descriptors{memory.get(), table.get()};
    DCMT_RETURN_IF_ERROR(connection_.send(request, descriptors));
    const auto until = Clock::now() + kMostUntilBegin;
    const Expected<agent::StandbyReply> reply =
        connection_.receive([&] { return !signals.came() && Clock::now() < until; });
    if (!reply.ok() && reply.error().code == ErrorCode::kStopped && !signals.came()) {
      return Error{ErrorCode::kCannotRecord, reply.error().message + ": it is stopped, or busy in one long call"};
    }
    DCMT_RETURN_IF_ERROR(reply.status());
    DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool,
                          spool::SpoolReader::open_memory(kInTheProcess, memory.get(), spool::Purpose::kDrain));
    const spool::ProcessFacts facts = spool.facts();
    const std::string name =
        unused_trace_name(facts.rank, static_cast<std::uint32_t>(options_.pid), [&](const std::string& each) {
          std::error_code error;
          return fs::exists(fs::symlink_status(options_.folder + "/" + each, error));
        });
    state_.traces[kInTheProcess] = name;
    DCMT_RETURN_IF_ERROR(save_run(options_.folder, state_));
    DCMT_ASSIGN_OR_RETURN(
        recorder_,
        ProcessRecorder::start(std::move(spool), options_.folder + "/" + name,
                               {state_.command, operators.origins, facts.rank, facts.world_size}, options_.retention));
    if (options_.owners) recorder_->read_memory_of(options_.pid, options_.layouts);
    recorder_->begin_with_past();
    return {};
  }

  /// Until something ends it. Whether the process has left the connection.
  Expected<bool> record(StopSignals& signals) {
    const bool shows = !options_.quiet && isatty(STDERR_FILENO) != 0;
    const auto began = Clock::now();
    auto last_status = began;
    for (;;) {
      if (connection_.has_ended()) return true;
      DCMT_ASSIGN_OR_RETURN(const std::size_t drained, recorder_->poll());
      if (recorder_->past_is_known() && !std::exchange(past_reported_, true)) {
        DCMT_RETURN_IF_ERROR(connection_.send(standby_request(agent::Ask::kPastKnown)));
      }
      const auto now = Clock::now();
      const Totals totals = recorder_->totals();
      if (signals.came()) break;
      if (options_.duration && now - began >= *options_.duration) break;
      // The first one had begun when we came.
      if (options_.steps != 0 && totals.steps > options_.steps) break;
      if (shows && now - last_status > kStatusEvery) {
        fprintf(stderr, "%sstep %ld · %s records · %ld lost · peak %s", kClearLine, static_cast<long>(totals.steps),
                human_count(totals.records).c_str(), static_cast<long>(recorder_->spool().lost()),
                human_bytes(totals.peak_bytes).c_str());
        last_status = now;
      }
      if (drained < kManyRecords) std::this_thread::sleep_for(kPause);
    }
    if (shows) fputs(kClearLine, stderr);
    return false;
  }

  /// The process puts back what it hooked. Its records are published then.
  Status leave(StopSignals& signals) {
    // What the program had before is found in a reading during which it is recorded.
    signals.forget();
    while (!recorder_->past_is_known() && !connection_.has_ended() && !signals.came()) {
      DCMT_RETURN_IF_ERROR(recorder_->poll().status());
      std::this_thread::sleep_for(kPause);
    }
    recorder_->begin_no_reading();
    const Status sent = connection_.send(standby_request(agent::Ask::kDetach));
    if (!sent.ok()) return connection_.has_ended() ? Status{} : sent;
    const auto until = Clock::now() + kMostUntilEnd;
    const auto reply = connection_.receive([&] { return Clock::now() < until && recorder_->poll().ok(); });
    return reply.ok() || connection_.has_ended() ? Status{} : reply.status();
  }

  Expected<AttachResult> finish(bool has_ended) {
    AttachResult result;
    // A process that ends closes the connection as one does that somebody else has detached from.
    constexpr int kMostPauses = 20;
    for (int i = 0; has_ended && i < kMostPauses && recorder_->spool().state() != spool::AgentState::kFinished; ++i) {
      if (!ProcessRecorder::is_alive(recorder_->spool().facts())) break;
      std::this_thread::sleep_for(kPause);
    }
    const bool lives = ProcessRecorder::is_alive(recorder_->spool().facts());
    DCMT_RETURN_IF_ERROR(recorder_->finish(lives ? "still running" : recorder_->unseen_exit(), "finished"));
    result.steps = recorder_->totals().steps;
    result.traces.push_back(recorder_->trace_path());
    state_.state = "finished";
    state_.notes = result.notes;
    DCMT_RETURN_IF_ERROR(save_run(options_.folder, state_));
    return result;
  }

 private:
  const AttachOptions& options_;
  StandbyConnection connection_;
  RunState state_;
  std::unique_ptr<ProcessRecorder> recorder_;
  bool past_reported_ = false;  ///< to the process: that what it had before is known
};

}  // namespace

Expected<AttachResult> attach(const AttachOptions& options) {
  StopSignals signals;
  DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, StandbyConnection::open(options.pid));
  std::vector<std::string> tables = options.operator_tables;
  tables.push_back(options.shipped_operators);
  DCMT_ASSIGN_OR_RETURN(const OperatorTables operators, compile_operator_tables(tables));
  DCMT_RETURN_IF_ERROR(check_can_hold_traces(options.folder));
  RunState state = state_of(options);
  DCMT_RETURN_IF_ERROR(claim_run_folder(options.folder, options.replace, launch_of_environment(), state));
  const std::string run_file = options.folder + "/" + state.file;
  Attached attached(options, std::move(connection), std::move(state));
  if (const Status begun = attached.begin(signals, operators); !begun.ok()) {
    unlink(run_file.c_str());  // nothing was recorded
    return begun.error();
  }
  DCMT_ASSIGN_OR_RETURN(const bool ended, attached.record(signals));
  if (!ended) DCMT_RETURN_IF_ERROR(attached.leave(signals));
  return attached.finish(ended);
}

Status detach(pid_t pid) {
  DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, StandbyConnection::open(pid));
  DCMT_RETURN_IF_ERROR(connection.send(standby_request(agent::Ask::kDetach)));
  const auto until = Clock::now() + kMostUntilEnd;
  return connection.receive([&] { return Clock::now() < until; }).status();
}

}  // namespace dcmt::recorder
