#include "collector/recorder/job/session.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "collector/recorder/console/human_text.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/job/folder_lock.h"
#include "collector/recorder/job/trace_names.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/quantities.h"
#include "trace/base/read_file.h"
#include "trace/base/shell_words.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

/// Time between two searches for processes that have begun or ended.
constexpr auto kSearchEvery = std::chrono::milliseconds(50);
/// Limit of a run's out-of-memory errors that are printed at once.
constexpr std::int64_t kMostReported = 3;

/// Launchers import torch and never make a tensor: their traces would be empty, so they are removed.
bool has_content(const std::string& trace) {
  Expected<Database> database = open_trace(trace);
  if (!database.ok()) return false;
  Expected<Statement> query = database->prepare(
      "SELECT EXISTS(SELECT 1 FROM storage) OR EXISTS(SELECT 1 FROM block) OR EXISTS(SELECT 1 FROM mark)");
  if (!query.ok()) return false;
  const Expected<bool> row = query->step();
  return row.ok() && *row && query->integer(0) != 0;
}

}  // namespace

Session::Session(TraceFolders folders, std::string spool_folder, const RetentionOptions& retention, std::string origins,
                 scan::LayoutFolders layouts, const Launch& launch, RunState& run)
    : folders_(std::move(folders)),
      spool_folder_(std::move(spool_folder)),
      retention_(retention),
      origins_(std::move(origins)),
      layouts_(std::move(layouts)),
      launch_(launch),
      run_(run),
      mover_(folders_.output),
      unseen_(spool_folder_) {}

std::size_t Session::poll(const JobState& job) {
  const auto now = std::chrono::steady_clock::now();
  const bool search = now - last_search_ > kSearchEvery || job.wait_status.has_value() != saw_job_end_;
  if (search) {
    last_search_ = now;
    saw_job_end_ = job.wait_status.has_value();
    find_new(job);
    if (!job.wait_status) unseen_.inspect(job.pid, seen_pids_);
  }
  std::size_t drained = 0;
  for (auto it = live_.begin(); it != live_.end();) {
    ProcessRecorder& process = *it->second.recorder;
    if (job.wait_status) process.begin_no_reading();
    Expected<std::size_t> result = process.poll();
    if (!result.ok()) {
      give_up(it->first, process, result.error());
      it = live_.erase(it);
      continue;
    }
    drained += *result;
    report_out_of_memory(process);
    if (search && has_ended(it->second, job)) {
      finish(it->first, process, exit_of(it->second, job));
      it = live_.erase(it);
      continue;
    }
    ++it;
  }
  note_moved(mover_.collect());
  return drained;
}

void Session::abandon_rest() {
  for (auto& [path, live] : live_) {
    notes_.push_back(fmt::format("process {} still runs; its trace ends here", live.recorder->spool().facts().pid));
    finish(path, *live.recorder, "still running");
  }
  live_.clear();
  note_moved(mover_.wait());
}

std::vector<std::string> Session::notes() const {
  std::vector<std::string> notes = notes_;
  for (std::string& each : unseen_.notes()) notes.push_back(std::move(each));
  if (out_of_memory_ > reported_) {
    notes.push_back(fmt::format("{} out-of-memory errors in all; each is in: dc-memtrace report {}", out_of_memory_,
                                shell_word(folders_.output)));
  }
  return notes;
}

std::string Session::status_line() const {
  Totals sum;
  std::set<std::int32_t> ranks;
  std::int64_t bytes = 0;
  for (const auto& [path, live] : live_) {
    const auto& process = live.recorder;
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
                     human_count(sum.records), rounded_bytes(bytes), sum.lost, rounded_bytes(sum.peak_bytes));
}

void Session::find_new(const JobState& job) {
  std::error_code error;
  std::multimap<std::uint64_t, std::pair<std::string, spool::ProcessFacts>> found;  // sorted by start time
  for (const auto& entry : fs::directory_iterator(spool_folder_, error)) {
    const std::string path = entry.path().string();
    const std::string suffix = entry.path().extension().string();
    if ((suffix != ".spool" && suffix != ".refused") || !seen_.insert(path).second) continue;
    if (suffix == ".refused") {
      const std::string text = read_file(path).value_or("");
      const std::string why = text.substr(0, text.find('\n'));
      notes_.push_back(fmt::format("process {} is not recorded: {}", entry.path().stem().string(), why));
      seen_pids_.insert(static_cast<pid_t>(std::strtol(entry.path().stem().c_str(), nullptr, 10)));
      continue;
    }
    Expected<spool::SpoolReader> peek = spool::SpoolReader::open(path, spool::Purpose::kInspect);
    if (peek.ok()) {
      // Before it is taken over, because from then on the job does not keep it open.
      keeper_.keep(path, peek->memory());
      found.emplace(peek->facts().start_tsc, std::pair{path, peek->facts()});
    } else {
      notes_.push_back(peek.error().message);
    }
  }
  for (const auto& [start, spool] : found) open(spool.first, spool.second, job);
}

void Session::open(const std::string& path, const spool::ProcessFacts& facts, const JobState& job) {
  finish_earlier_image(facts);
  unseen_.has_spool(facts.process_start);
  pid_t pid = pid_here(facts.pid, facts.process_start);
  if (pid == 0 && static_cast<pid_t>(facts.pid) == job.pid) pid = job.pid;  // it has just ended
  seen_pids_.insert(pid);
  RunFacts run{command_of(static_cast<std::uint32_t>(pid)), origins_, facts.rank, facts.world_size};
  // A launcher without RANK has set the command's rank.
  if (facts.rank < 0 && pid == job.pid) {
    run.rank = launch_.rank;
    run.world_size = launch_.world_size;
  }
  Expected<std::unique_ptr<ProcessRecorder>> process = start_recorder(path, run, facts.pid);
  if (!process.ok()) {
    notes_.push_back(process.error().message);
    return;
  }
  if (pid != 0) (*process)->sample_memory_of(pid);
  if (pid != 0 && !layouts_.empty()) (*process)->read_memory_of(pid, layouts_);
  live_.emplace(path, Live{std::move(*process), pid});
}

/// Saves the name before the trace exists: if this process is killed in between, a report makes the trace. Other
/// recorders may use names in the same folder.
Expected<std::unique_ptr<ProcessRecorder>> Session::start_recorder(const std::string& path, const RunFacts& run,
                                                                   std::uint32_t pid) {
  const FolderLock lock(folders_.output);
  const std::string name = unused_trace_name(run.rank, pid, [&](const std::string& each) {
    std::error_code error;
    return names_.contains(each) || fs::exists(fs::symlink_status(folders_.output + "/" + each, error));
  });
  run_.traces[spool_stem(path)] = name;
  if (const Status saved = save_run(folders_.output, run_); !saved.ok()) notes_.push_back(saved.error().message);
  auto process = ProcessRecorder::start(path, folders_.local + "/" + name, run, retention_);
  if (process.ok()) {
    names_.insert(name);
  } else {
    run_.traces.erase(spool_stem(path));
  }
  return process;
}

/// A process that has executed another program has a new spool; the old one gets no further records.
void Session::finish_earlier_image(const spool::ProcessFacts& facts) {
  for (auto it = live_.begin(); it != live_.end();) {
    const spool::ProcessFacts& other = it->second.recorder->spool().facts();
    if (other.pid != facts.pid || other.process_start != facts.process_start) {
      ++it;
      continue;
    }
    finish(it->first, *it->second.recorder, "exec");
    it = live_.erase(it);
  }
}

std::vector<std::string> Session::command_of(std::uint32_t pid) const {
  std::istringstream file(read_file(fmt::format("/proc/{}/cmdline", pid)).value_or(""));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words.empty() ? run_.command : words;
}

/// From the command's own end if that is known, else from the agent's state.
std::string Session::exit_of(const Live& live, const JobState& job) {
  if (live.pid != job.pid || !job.wait_status) return live.recorder->unseen_exit();
  return WIFSIGNALED(*job.wait_status) ? fmt::format("signal {}", WTERMSIG(*job.wait_status))
                                       : fmt::format("exit {}", WEXITSTATUS(*job.wait_status));
}

/// A process whose start could not be read from /proc cannot be found: it is recorded until the command has ended.
bool Session::has_ended(const Live& live, const JobState& job) {
  const std::uint64_t start = live.recorder->spool().facts().process_start;
  if (live.pid == job.pid || start == 0) return job.wait_status.has_value();
  return live.pid == 0 || process_start(live.pid) != start;
}

void Session::finish(const std::string& spool_path, ProcessRecorder& process, const std::string& exit) {
  const bool refused = process.spool().state() == spool::AgentState::kRefused;
  if (refused) notes_.push_back(process.spool().message());
  const Status done = process.finish(exit, "finished");
  report_out_of_memory(process);
  out_of_memory_ += process.totals().out_of_memory;
  std::error_code error;
  if (!done.ok()) {
    give_up(spool_path, process, done.error());
    return;
  }
  fs::remove(spool_path, error);
  keeper_.let_go(spool_path);
  if (refused || !has_content(process.trace_path())) {
    fs::remove(process.trace_path(), error);
    run_.traces.erase(spool_stem(spool_path));
    names_.erase(fs::path(process.trace_path()).filename().string());
  } else if (folders_.moves()) {
    mover_.add(spool_stem(spool_path), process.trace_path());
  } else {
    finished_.push_back(process.trace_path());
  }
}

void Session::note_moved(std::vector<MovedTrace> moved) {
  for (const MovedTrace& trace : moved) {
    if (trace.to.ok()) {
      const std::string name = fs::path(*trace.to).filename().string();
      // Another recorder has used the name meanwhile.
      if (std::exchange(run_.traces[trace.key], name) != name) (void)save_run(folders_.output, run_);
      names_.insert(name);
      finished_.push_back(*trace.to);
    } else {
      notes_.push_back(trace.to.error().message);
      finished_.push_back(trace.from);
      unmoved_ = true;
    }
  }
}

/// Prints at once, because the job may hang or be killed next. It prints in one piece and begins a new line, because
/// the job writes there, too.
void Session::report_out_of_memory(ProcessRecorder& process) {
  for (const OomFacts& facts : process.drain_out_of_memory()) {
    if (reported_ == kMostReported) return;
    ++reported_;
    const std::int32_t rank = process.spool().facts().rank;
    const std::string lines = "\n" + oom_lines(facts, rank >= 0 ? fmt::format(", rank {}", rank) : "", folders_.output);
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, lines.data(), lines.size());
  }
}

void Session::give_up(const std::string& spool_path, const ProcessRecorder& process, const Error& error) {
  std::string why = error.message;
  if (why.ends_with('.')) why.pop_back();
  notes_.push_back(fmt::format("recording of process {} stopped: {}. What came after stays in {}",
                               process.spool().facts().pid, why, spool_path));
  unfinished_ = true;
}

}  // namespace dcmt::recorder
