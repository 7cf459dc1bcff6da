#include "collector/recorder/drive/attached.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "collector/recorder/folder/trace_names.h"
#include "collector/recorder/target/kernel_memory.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/printable.h"
#include "trace/base/read_file.h"
#include "trace/spool/layout.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = std::chrono::milliseconds(10);
/// A process that needs longer to begin is busy in a long call, or stopped.
constexpr auto kMostUntilBegin = std::chrono::seconds(60);
/// The same for removing its hooks.
constexpr auto kMostUntilEnd = std::chrono::seconds(5);
constexpr char kInTheProcess[] = "attached";  ///< replaces the name of the spool's file, which has no path

Error cannot(const std::string& what) { return {ErrorCode::kCannotRecord, what + ": " + std::strerror(errno)}; }

Expected<Descriptor> make_memory(const char* name) {
  constexpr unsigned kNoExec = 0x0008U;  // MFD_NOEXEC_SEAL: some systems require it, kernels before 6.3 refuse it
  int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExec);
  if (fd < 0 && errno == EINVAL) fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return cannot("no memory for the spool");
  return Descriptor(fd);
}

/// Allocates all of it: a process that writes to a hole when no memory is left would be killed.
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

Descriptor open_folder(const std::string& path) {
  return Descriptor(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/// With Yama's scope 1, only a process's parent, or a process that it names, may read it.
bool needs_permission() { return read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0").starts_with('1'); }

}  // namespace

Status Attached::ask(const OperatorTables& operators) {
  const std::uint32_t chunks = options_.spool_mib * 16;
  DCMT_ASSIGN_OR_RETURN(memory_, make_spool(chunks));
  DCMT_ASSIGN_OR_RETURN(const Descriptor table, make_operators(operators.agent));
  agent::StandbyRequest request = standby_request(agent::Ask::kAttach);
  request.detail = static_cast<std::uint32_t>(options_.detail);
  request.chunk_count = chunks;
  request.exit_wait = options_.exit_wait;
  request.may_trace = options_.owners && needs_permission() ? 1 : 0;
  request.kernels = options_.kernels ? 1 : 0;
  options_.prepared.copy(request.prepared, sizeof request.prepared - 1);
  std::vector<int> descriptors{memory_.get(), table.get()};
  Descriptor providers;
  Descriptor prepared;
  if (target_.has_agents_memory) {
    providers = open_folder(options_.providers);
    prepared = open_folder(options_.prepared);
    descriptors.push_back(providers.get());
    // Without prepared providers, the agent gets the other folder, where it finds none.
    descriptors.push_back(prepared.get() >= 0 ? prepared.get() : providers.get());
  }
  return connection_.send(request, descriptors);
}

Status Attached::begin(const OperatorTables& operators, RunState& state, const Meanwhile& meanwhile) {
  const auto until = Clock::now() + kMostUntilBegin;
  const Expected<agent::StandbyReply> reply = connection_.receive([&] { return Clock::now() < until && meanwhile(); });
  if (!reply.ok() && reply.error().code == ErrorCode::kStopped && Clock::now() >= until) {
    return Error{ErrorCode::kCannotRecord, reply.error().message + ": it is stopped, or busy in one long call"};
  }
  DCMT_RETURN_IF_ERROR(reply.status());
  if (reply->message[0] != '\0') {
    fmt::print(stderr, "dc-memtrace: {}: {}\n", process_text(target_.pid), printable(reply->message));
  }
  const std::string source = fmt::format("{}-{}", kInTheProcess, target_.pid);
  DCMT_ASSIGN_OR_RETURN(spool::SpoolReader spool,
                        spool::SpoolReader::open_memory(source, memory_.get(), spool::Purpose::kDrain));
  const spool::ProcessFacts facts = spool.facts();
  const int rank = facts.rank >= 0 ? facts.rank : target_.launch.rank;
  const int world_size = facts.world_size >= 0 ? facts.world_size : target_.launch.world_size;
  const std::string name =
      unused_trace_name(rank, static_cast<std::uint32_t>(target_.pid), [&](const std::string& each) {
        std::error_code error;
        return fs::exists(fs::symlink_status(options_.folder + "/" + each, error)) ||
               fs::exists(fs::symlink_status(folder_of_traces(options_.folder, state) + "/" + each, error));
      });
  state.traces[source] = name;
  DCMT_RETURN_IF_ERROR(save_run(options_.folder, state));
  const std::string trace = folder_of_traces(options_.folder, state) + "/" + name;
  DCMT_ASSIGN_OR_RETURN(
      recorder_, ProcessRecorder::start(std::move(spool), trace, {target_.command, operators.origins, rank, world_size},
                                        options_.retention));
  recorder_->sample_memory_of(target_.pid);
  if (options_.owners) recorder_->read_memory_of(target_.pid, options_.layouts);
  recorder_->begin_with_past();
  return {};
}

Expected<std::size_t> Attached::drain() {
  if (recorder_ == nullptr || is_over_) return std::size_t{0};
  DCMT_ASSIGN_OR_RETURN(const std::size_t drained, recorder_->poll());
  if (recorder_->past_is_known() && !std::exchange(past_reported_, true) && !has_ended()) {
    // A process that is ending does not read it.
    (void)connection_.send(standby_request(agent::Ask::kPastKnown)).ok();
  }
  return drained;
}

bool Attached::meets(const Condition& condition) {
  if (recorder_ == nullptr || is_over_) return false;
  switch (condition.what) {
    case Counted::kAllocated:
      return condition.is_met_by(totals().peak_bytes);
    case Counted::kReserved:
      return condition.is_met_by(totals().reserved_peak_bytes);
    case Counted::kResident:
      break;
  }
  const auto memory = kernel_memory(target_.pid);
  return memory && condition.is_met_by(memory->resident);
}

Status Attached::met(const std::string& note) {
  if (is_over_) return {};
  // The current step is not a whole one.
  steps_before_ = totals().steps + 1;
  recorder_->read_once_more();
  return recorder_->note(note);
}

bool Attached::has_its_steps() const {
  if (!options_.when) return options_.steps != 0 && totals().steps > options_.steps;
  return steps_before_ != 0 && totals().steps >= steps_before_ + options_.when->after &&
         recorder_->has_read_once_more();
}

Status Attached::leave(const Meanwhile& meanwhile) {
  recorder_->begin_no_reading();
  const Status sent = connection_.send(standby_request(agent::Ask::kDetach));
  if (!sent.ok()) return connection_.has_ended() ? Status{} : sent;
  const auto until = Clock::now() + kMostUntilEnd;
  const auto reply = connection_.receive([&] { return Clock::now() < until && recorder_->poll().ok() && meanwhile(); });
  return reply.ok() || connection_.has_ended() ? Status{} : reply.status();
}

Status Attached::finish(bool left) {
  is_over_ = true;
  // The connection is closed both by a process that ends and by one from which somebody else has detached.
  constexpr int kMostPauses = 20;
  for (int i = 0; !left && i < kMostPauses && recorder_->spool().state() != spool::AgentState::kFinished; ++i) {
    if (!ProcessRecorder::is_alive(recorder_->spool().facts())) break;
    std::this_thread::sleep_for(kPause);
  }
  const bool lives = ProcessRecorder::is_alive(recorder_->spool().facts()) && !is_leaving(target_.pid);
  return recorder_->finish(lives ? "still running" : recorder_->unseen_exit(), "finished");
}

}  // namespace dcmt::recorder
