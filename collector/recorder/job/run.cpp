#include "collector/recorder/job/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "collector/agent/environment.h"
#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/human_text.h"
#include "collector/recorder/job/child_process.h"
#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/run_folder.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

/// Between two looks into the spools: long enough that a look finds many records, since each costs by itself.
constexpr auto kPause = std::chrono::milliseconds(10);
/// So many at once mean that they come faster than they are taken: no pause.
constexpr std::size_t kManyRecords = 20'000;
/// Between two looks for processes that have begun or ended.
constexpr auto kLookForProcesses = std::chrono::milliseconds(50);
constexpr auto kStatusEvery = std::chrono::milliseconds(250);
/// Processes that outlive the command are recorded for this long; then their traces are finished as they are.
constexpr auto kGrace = std::chrono::seconds(10);
/// Of the out-of-memory errors of a run, so many are told of at once.
constexpr std::int64_t kMostTold = 3;
constexpr char kClearLine[] = "\r\033[K";

/// The key of RunState::traces.
std::string spool_stem(const std::string& spool_path) { return fs::path(spool_path).stem().string(); }

/// By rank, if the process has one. Where `is_used` says that an earlier one has the name, a number is added.
template <class IsUsed>
std::string unused_trace_name(const spool::ProcessFacts& facts, IsUsed&& is_used) {
  const std::string stem = facts.rank >= 0 ? fmt::format("rank{}", facts.rank) : fmt::format("pid{}", facts.pid);
  std::string name = stem + ".dcmt";
  for (int number = 2; is_used(name); ++number) name = fmt::format("{}-{}.dcmt", stem, number);
  return name;
}

/// The traced processes of one run: finds their spools, drains them, finishes them when they are gone.
class Session {
 public:
  Session(std::string folder, std::string spool_folder, const RetentionOptions& retention, std::string origins,
          RunState& run, bool shows_status)
      : folder_(std::move(folder)),
        spool_folder_(std::move(spool_folder)),
        retention_(retention),
        origins_(std::move(origins)),
        run_(run),
        shows_status_(shows_status) {}

  /// Returns how many records were drained.
  std::size_t poll(pid_t job, std::map<pid_t, int>& exits) {
    const auto now = std::chrono::steady_clock::now();
    const bool look = now - last_look_ > kLookForProcesses || exits.size() != seen_exits_;
    if (look) {
      last_look_ = now;
      seen_exits_ = exits.size();
      find_new();
    }
    std::size_t drained = 0;
    for (auto it = live_.begin(); it != live_.end();) {
      ProcessRecorder& process = *it->second;
      Expected<std::size_t> result = process.poll();
      if (!result.ok()) {
        give_up(it->first, process, result.error());
        it = live_.erase(it);
        continue;
      }
      drained += *result;
      tell_out_of_memory(process);
      const auto pid = static_cast<pid_t>(process.spool().facts().pid);
      if (look && !ProcessRecorder::is_alive(process.spool().facts()) && (pid != job || exits.contains(pid))) {
        finish(it->first, process, exits);
        it = live_.erase(it);
        continue;
      }
      ++it;
    }
    return drained;
  }

  /// Ends recording of processes that are still alive.
  void abandon_rest() {
    for (auto& [path, process] : live_) {
      notes_.push_back(fmt::format("process {} still runs; its trace ends here", process->spool().facts().pid));
      finish(path, *process, {});
    }
    live_.clear();
  }

  /// Of out-of-memory errors that were only counted; empty if all were told of.
  [[nodiscard]] std::string untold() const {
    if (out_of_memory_ <= told_) return {};
    return fmt::format("{} out-of-memory errors in all; each is in: dc-memtrace report {}", out_of_memory_, folder_);
  }

  [[nodiscard]] bool idle() const { return live_.empty(); }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }
  [[nodiscard]] const std::vector<std::string>& finished() const { return finished_; }

  [[nodiscard]] std::string status_line() const {
    Totals sum;
    std::set<std::int32_t> ranks;
    std::int64_t bytes = 0;
    for (const auto& [path, process] : live_) {
      const Totals totals = process->totals();
      sum.records += totals.records;
      sum.lost += static_cast<std::int64_t>(process->spool().lost());
      sum.steps = std::max(sum.steps, totals.steps);
      sum.peak_bytes = std::max(sum.peak_bytes, totals.peak_bytes);
      ranks.insert(process->spool().facts().rank);
      std::error_code error;
      for (const char* suffix : {"", "-wal"}) {
        const auto size = fs::file_size(process->trace_path() + suffix, error);
        if (!error) bytes += static_cast<std::int64_t>(size);
      }
    }
    ranks.erase(-1);
    std::string who;
    if (ranks.size() == 1) who = fmt::format("rank {} · ", *ranks.begin());
    if (ranks.size() > 1) who = fmt::format("rank {}–{} · ", *ranks.begin(), *ranks.rbegin());
    return fmt::format("{}step {} · {} records · {} on disk · {} lost · peak {}", who, sum.steps,
                       human_count(sum.records), human_bytes(bytes), sum.lost, human_bytes(sum.peak_bytes));
  }

 private:
  void find_new() {
    std::error_code error;
    std::multimap<std::uint64_t, std::pair<std::string, spool::ProcessFacts>> found;  // in the order of their start
    for (const auto& entry : fs::directory_iterator(spool_folder_, error)) {
      const std::string path = entry.path().string();
      const std::string suffix = entry.path().extension().string();
      if ((suffix != ".spool" && suffix != ".refused") || !seen_.insert(path).second) continue;
      if (suffix == ".refused") {
        std::ifstream file(path);
        std::string why;
        std::getline(file, why);
        notes_.push_back(fmt::format("process {} is not recorded: {}", entry.path().stem().string(), why));
        continue;
      }
      Expected<spool::SpoolReader> peek = spool::SpoolReader::open(path);
      if (peek.ok()) {
        found.emplace(peek->facts().start_tsc, std::pair{path, peek->facts()});
      } else {
        notes_.push_back(peek.error().message);
      }
    }
    for (const auto& [start, spool] : found) open(spool.first, spool.second);
  }

  void open(const std::string& path, const spool::ProcessFacts& facts) {
    finish_earlier_image(facts.pid);
    const std::string name = trace_name(facts);
    Expected<std::unique_ptr<ProcessRecorder>> process =
        ProcessRecorder::start(path, folder_ + "/" + name, {command_of(facts.pid), origins_}, retention_);
    if (!process.ok()) {
      notes_.push_back(process.error().message);
      return;
    }
    run_.traces[spool_stem(path)] = name;
    if (Status saved = save_run(folder_, run_); !saved.ok()) notes_.push_back(saved.error().message);
    live_.emplace(path, std::move(*process));
  }

  /// A process that executed another program has a new spool; nobody writes on the old one any more.
  void finish_earlier_image(std::uint32_t pid) {
    for (auto it = live_.begin(); it != live_.end();) {
      if (it->second->spool().facts().pid != pid) {
        ++it;
        continue;
      }
      finish(it->first, *it->second, {});
      it = live_.erase(it);
    }
  }

  std::string trace_name(const spool::ProcessFacts& facts) {
    std::string name = unused_trace_name(facts, [this](const std::string& each) { return names_.contains(each); });
    names_.insert(name);
    return name;
  }

  std::vector<std::string> command_of(std::uint32_t pid) const {
    std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    return words.empty() ? run_.command : words;
  }

  void finish(const std::string& spool_path, ProcessRecorder& process, const std::map<pid_t, int>& exits) {
    // Of a process that another one started, only the agent's last word is known.
    const bool in_order = process.spool().state() == spool::AgentState::kFinished;
    std::string exit = in_order ? "exit unseen" : "unknown";
    const auto status = exits.find(static_cast<pid_t>(process.spool().facts().pid));
    if (status != exits.end()) {
      exit = WIFSIGNALED(status->second) ? fmt::format("signal {}", WTERMSIG(status->second))
                                         : fmt::format("exit {}", WEXITSTATUS(status->second));
    }
    const bool refused = process.spool().state() == spool::AgentState::kRefused;
    if (refused) notes_.push_back(process.spool().message());
    const Status done = process.finish(exit, "finished");
    tell_out_of_memory(process);
    out_of_memory_ += process.totals().out_of_memory;
    std::error_code error;
    if (!done.ok()) {
      // The spool stays: a later report finishes it.
      notes_.push_back(done.error().message);
      unfinished_ = true;
      return;
    }
    fs::remove(spool_path, error);
    if (refused || !has_content(process.trace_path())) {
      fs::remove(process.trace_path(), error);
      run_.traces.erase(spool_stem(spool_path));
      names_.erase(fs::path(process.trace_path()).filename().string());
    } else {
      finished_.push_back(process.trace_path());
    }
  }

  /// Launchers import torch and never make a tensor: an empty trace would only be noise.
  static bool has_content(const std::string& trace) {
    Expected<Database> database = open_trace(trace);
    if (!database.ok()) return false;
    Expected<Statement> query = database->prepare(
        "SELECT EXISTS(SELECT 1 FROM storage) OR EXISTS(SELECT 1 FROM block) OR EXISTS(SELECT 1 FROM mark)");
    if (!query.ok()) return false;
    const Expected<bool> row = query->step();
    return row.ok() && *row && query->integer(0) != 0;
  }

  /// At once: the job may hang or be killed next. In one piece and from the start of a line, since the job writes
  /// there, too, and may have begun one.
  void tell_out_of_memory(ProcessRecorder& process) {
    for (const OomFacts& facts : process.take_out_of_memory()) {
      if (told_ == kMostTold) return;
      ++told_;
      const std::int32_t rank = process.spool().facts().rank;
      const std::string lines = (shows_status_ ? kClearLine : "\n") +
                                oom_lines(facts, rank >= 0 ? fmt::format(", rank {}", rank) : "", folder_);
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, lines.data(), lines.size());
    }
  }

  void give_up(const std::string& spool_path, const ProcessRecorder& process, const Error& error) {
    std::string why = error.message;
    if (why.ends_with('.')) why.pop_back();
    notes_.push_back(fmt::format("recording of process {} stopped: {}. What came after stays in {}",
                                 process.spool().facts().pid, why, spool_path));
    unfinished_ = true;
  }

 public:
  [[nodiscard]] bool unfinished() const { return unfinished_; }

 private:
  std::string folder_;
  std::string spool_folder_;
  RetentionOptions retention_;
  const std::string origins_;
  RunState& run_;
  bool shows_status_;
  std::map<std::string, std::unique_ptr<ProcessRecorder>> live_;
  std::chrono::steady_clock::time_point last_look_{};
  std::size_t seen_exits_ = 0;
  std::set<std::string> seen_;
  std::set<std::string> names_;
  std::vector<std::string> finished_;
  std::vector<std::string> notes_;
  bool unfinished_ = false;
  std::int64_t told_ = 0;           ///< out-of-memory errors
  std::int64_t out_of_memory_ = 0;  ///< of processes that are over
};

void write_status(const std::string& line) { fprintf(stderr, "%s%s", kClearLine, line.c_str()); }
void clear_status() { fputs(kClearLine, stderr); }

/// After what is preloaded already: sanitizers want to be first. An agent of a run around this one makes room for ours.
std::string preload_value(const std::string& agent) {
  const char* already = getenv("LD_PRELOAD");
  std::string value;
  std::istringstream words(already != nullptr ? already : "");
  for (std::string paths; words >> paths;) {  // ld.so separates by spaces and by colons
    std::istringstream colons(paths);
    for (std::string path; std::getline(colons, path, ':');) {
      if (!path.empty() && fs::path(path).filename() != fs::path(agent).filename()) value += path + ":";
    }
  }
  return value + agent;
}

/// A program built with the address sanitizer refuses to start when anything is loaded before the sanitizer. The agent
/// replaces no function of the sanitizer's, so its order does not matter.
std::string sanitizer_value() {
  const char* already = getenv("ASAN_OPTIONS");
  const std::string ours = "verify_asan_link_order=0";
  return already != nullptr && *already != '\0' ? std::string(already) + ":" + ours : ours;
}

/// Reaps every child that has ended; orphans of the job come to us as its subreaper.
void reap(std::map<pid_t, int>& exits) {
  int status = 0;
  for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) exits[pid] = status;
}

/// A trace that is written to must be a file of the folder: a link could lead anywhere.
Status check_traces(const std::string& folder, const RunState& run) {
  std::error_code error;
  for (const auto& [spool, name] : run.traces) {
    const fs::file_status status = fs::symlink_status(fs::path(folder) / name, error);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
      return {ErrorCode::kBadInput, fmt::format("{}/{}: is not a file; the run is not finished", folder, name)};
    }
  }
  return {};
}

/// The spools of a run without a recorder; kCannotRecord if one of its processes is alive.
Expected<std::vector<std::string>> spools_of_the_dead(const std::string& folder, const std::string& spool_folder) {
  std::vector<std::string> spools;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(spool_folder, error)) {
    if (entry.path().extension() != ".spool") continue;
    Expected<spool::SpoolReader> peek = spool::SpoolReader::open(entry.path().string());
    if (!peek.ok()) return peek.error();
    if (ProcessRecorder::is_alive(peek->facts())) {
      return Error{
          ErrorCode::kCannotRecord,
          fmt::format(
              "{}: its recorder is gone but process {} still runs; this is what was recorded before. Report again when "
              "it has ended.",
              folder, peek->facts().pid)};
    }
    spools.push_back(entry.path().string());
  }
  return spools;
}

/// Finishes the trace of one spool and removes the spool.
Status recover(const std::string& folder, const std::string& spool, RunState& run) {
  std::string& name = run.traces[spool_stem(spool)];
  if (name.empty()) {
    Expected<spool::SpoolReader> peek = spool::SpoolReader::open(spool);
    if (!peek.ok()) return peek.error();
    name = unused_trace_name(peek->facts(), [&](const std::string& each) {
      std::error_code error;
      return fs::exists(fs::symlink_status(fs::path(folder) / each, error));
    });
    DCMT_RETURN_IF_ERROR(save_run(folder, run));  // another report goes on with this name
  }
  Expected<std::unique_ptr<ProcessRecorder>> process =
      ProcessRecorder::resume(spool, folder + "/" + name, {run.command, {}});
  if (!process.ok()) return process.error();
  DCMT_RETURN_IF_ERROR((*process)->finish("unknown", "recovered"));
  std::error_code error;
  fs::remove(spool, error);
  return {};
}

}  // namespace

Expected<RunResult> run(const RunOptions& options) {
  const std::string agent = options.libraries + "/libdcmt_agent.so";
  if (access(agent.c_str(), R_OK) != 0) {
    return Error{ErrorCode::kCannotRecord,
                 agent +
                     ": the agent is missing. This build has no collector: configure it with a "
                     "Python that has torch (DCMT_PYTHON), or run dc-memtrace doctor."};
  }
  std::vector<std::string> tables = options.operator_tables;
  tables.push_back(options.shipped_operators);
  Expected<OperatorTables> operators = compile_operator_tables(tables);
  if (!operators.ok()) return operators.error();
  DCMT_RETURN_IF_ERROR(prepare_run_folder(options.folder, options.replace));
  DCMT_RETURN_IF_ERROR(check_can_hold_traces(options.folder));
  const std::uint32_t chunks = options.spool_mib * 16;
  Expected<std::string> spool_folder = make_spool_folder(options.folder, 2 * spool::file_bytes(chunks));
  if (!spool_folder.ok()) return spool_folder.error();
  const std::string operators_file = *spool_folder + "/operators";
  std::ofstream operators_out(operators_file);
  operators_out << operators->agent;
  operators_out.close();
  if (!operators_out) {
    remove_spool_folder(options.folder, *spool_folder);
    return Error{ErrorCode::kIo, operators_file + ": cannot be written: " + std::strerror(errno)};
  }

  RunState state;
  state.spool_folder = *spool_folder;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.command = options.command;
  state.state = "recording";
  DCMT_RETURN_IF_ERROR(save_run(options.folder, state));

  prctl(PR_SET_CHILD_SUBREAPER, 1);
  SignalQueue signals;
  Expected<pid_t> job = start_child(options.command,
                                    {{"LD_PRELOAD", preload_value(agent)},
                                     {"ASAN_OPTIONS", sanitizer_value()},
                                     {agent::kEnvSpool, *spool_folder},
                                     {agent::kEnvLibraries, options.libraries},
                                     {agent::kEnvDetail, text_of(options.detail)},
                                     {agent::kEnvChunks, std::to_string(chunks)},
                                     {agent::kEnvOperators, operators_file}},
                                    signals);
  if (!job.ok()) return job.error();

  const bool show = !options.quiet && isatty(STDERR_FILENO) != 0;
  Session session(options.folder, *spool_folder, options.retention, operators->origins, state, show);
  std::map<pid_t, int> exits;
  auto last_status = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point job_ended{};
  for (;;) {
    // Once it is reaped, its pid may be somebody else's.
    if (const int signal = signals.next_for_job(); signal != 0 && !exits.contains(*job)) kill(*job, signal);
    reap(exits);
    const std::size_t drained = session.poll(*job, exits);
    const auto now = std::chrono::steady_clock::now();
    if (exits.contains(*job)) {
      if (job_ended == std::chrono::steady_clock::time_point{}) job_ended = now;
      if (session.idle() || now - job_ended > kGrace) break;
    }
    if (show && now - last_status > kStatusEvery && !session.idle()) {
      write_status(session.status_line());
      last_status = now;
    }
    if (drained < kManyRecords) std::this_thread::sleep_for(kPause);
  }
  session.abandon_rest();
  if (show) clear_status();

  RunResult result;
  result.job_exit = shell_exit_code(exits[*job]);
  result.traces = session.finished();
  result.notes = session.notes();
  if (std::string untold = session.untold(); !untold.empty()) result.notes.push_back(std::move(untold));
  if (!session.unfinished()) {
    remove_spool_folder(options.folder, *spool_folder);
    state.state = "finished";
    state.spool_folder.clear();
  } else {
    state.recorder_pid = 0;
  }
  // Where a trace could not be finished for want of room, what is saved already tells a later report all it needs.
  Status saved = save_run(options.folder, state);
  if (!saved.ok() && !session.unfinished()) result.notes.push_back(saved.error().message);
  if (result.traces.empty() && result.notes.empty()) {
    result.notes.emplace_back("no process of the command made a tensor: nothing was recorded");
  }
  return result;
}

Status finish_interrupted_run(const std::string& folder) {
  if (!is_run_folder(folder)) return {};
  Expected<RunState> run = load_run(folder);
  if (!run.ok()) return run.error();
  if (run->state != "recording") return {};
  if (run->recorder_pid != 0 && process_start(run->recorder_pid) == run->recorder_start) {
    return {};  // still recording: readers look at the trace as it grows
  }
  DCMT_RETURN_IF_ERROR(check_spool_folder(folder, run->spool_folder));
  DCMT_RETURN_IF_ERROR(check_traces(folder, *run));
  Expected<std::vector<std::string>> spools = spools_of_the_dead(folder, run->spool_folder);
  if (!spools.ok()) return spools.error();
  for (const std::string& spool : *spools) DCMT_RETURN_IF_ERROR(recover(folder, spool, *run));
  // What has no spool (a restart of the machine takes shared memory along) ends at its last commit.
  std::error_code error;
  for (const auto& [spool, name] : run->traces) {
    const std::string trace = fmt::format("{}/{}", folder, name);
    if (fs::exists(trace, error)) DCMT_RETURN_IF_ERROR(ProcessRecorder::finish_without_spool(trace, "recovered"));
  }
  remove_spool_folder(folder, run->spool_folder);
  run->state = "recovered";
  run->spool_folder.clear();
  return save_run(folder, *run);
}

}  // namespace dcmt::recorder
