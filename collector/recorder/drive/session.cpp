#include "collector/recorder/drive/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "collector/recorder/console/human_text.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/folder/folder_lock.h"
#include "collector/recorder/folder/trace_names.h"
#include "trace/base/memory_error.h"
#include "trace/base/quantities.h"
#include "trace/base/shell_words.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

/// Limit of a recording's out-of-memory errors that are printed at once.
constexpr std::int64_t kMostReported = 3;

bool has_content(const std::string& trace) {
  Expected<Database> database = open_trace(trace);
  if (!database.ok()) return false;
  Expected<Statement> query = database->prepare(
      "SELECT EXISTS(SELECT 1 FROM storage) OR EXISTS(SELECT 1 FROM block) OR EXISTS(SELECT 1 FROM mark) "
      "OR EXISTS(SELECT 1 FROM interval_curve) OR EXISTS(SELECT 1 FROM oom)");
  if (!query.ok()) return false;
  const Expected<bool> row = query->step();
  return row.ok() && *row && query->integer(0) != 0;
}

/// The note of a MemoryError that ended the program; empty if none did.
std::string memory_error_of(const std::string& trace) {
  Expected<Database> database = open_trace(trace);
  if (!database.ok()) return {};
  Expected<Statement> query = database->prepare(
      "SELECT s.text FROM diagnostic d JOIN string s ON s.id = d.text WHERE s.text LIKE ?1 || '%' LIMIT 1");
  if (!query.ok()) return {};
  query->bind(1, kMemoryErrorNote);
  const Expected<bool> row = query->step();
  return row.ok() && *row ? std::string(query->text(0)) : std::string();
}

bool is_there(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

}  // namespace

std::string name_of(const ProcessRecorder& recorder) {
  return recorder.rank() >= 0 ? fmt::format("rank {}", recorder.rank())
                              : fmt::format("process {}", recorder.spool().facts().pid);
}

Session::Session(const RecordingOptions& options, TraceFolders folders, std::string origins, RunState& run,
                 SessionRules rules)
    : options_(options),
      folders_(std::move(folders)),
      origins_(std::move(origins)),
      run_(run),
      rules_(rules),
      mover_(folders_.output) {}

/// Saves the name before the trace exists: if this process is killed in between, a report makes the trace. Other
/// recorders may use names in the same folder.
Expected<RecordedProcess*> Session::begin(NewProcess process) {
  const FolderLock lock(folders_.output);
  const std::string name = unused_trace_name(process.rank, process.number, [&](const std::string& each) {
    return std::ranges::any_of(run_.traces, [&](const auto& trace) { return trace.second == each; }) ||
           is_there(folders_.output + "/" + each) || is_there(folders_.local + "/" + each);
  });
  run_.traces[spool_stem(process.source)] = name;
  if (const Status saved = save_run(folders_.output, run_); !saved.ok()) {
    if (rules_.ends_with_error) return saved.error();
    note(saved.error().message);
  }
  const std::string trace = folders_.local + "/" + name;
  Expected<std::unique_ptr<ProcessRecorder>> recorder =
      ProcessRecorder::start(std::move(process.spool), trace,
                             {process.command, origins_, process.rank, process.world_size}, options_.retention);
  if (!recorder.ok()) {
    if (!rules_.ends_with_error) run_.traces.erase(spool_stem(process.source));  // else the recording is undone
    return recorder.error();
  }
  if (process.pid != 0) {
    (*recorder)->sample_memory_of(process.pid);
    if (options_.owners && !options_.layouts.empty()) (*recorder)->read_memory_of(process.pid, options_.layouts);
  }
  if (process.has_past) (*recorder)->begin_with_past();
  RecordedProcess recorded{process.source, process.pid, std::move(*recorder), WatchedExit(process.pid)};
  return &live_.emplace(process.source, std::move(recorded)).first->second;
}

std::vector<RecordedProcess*> Session::live() {
  std::vector<RecordedProcess*> processes;
  for (auto& [source, process] : live_) processes.push_back(&process);
  return processes;
}

Expected<std::size_t> Session::drain() {
  std::size_t drained = 0;
  std::vector<RecordedProcess*> out_of_memory;
  for (RecordedProcess* each : live()) {
    const std::int64_t errors = each->recorder->totals().out_of_memory;
    const Expected<std::size_t> result = each->recorder->poll();
    if (!result.ok()) {
      DCMT_RETURN_IF_ERROR(give_up(*each, result.error()));
      continue;
    }
    drained += *result;
    if (each->recorder->totals().out_of_memory > errors) out_of_memory.push_back(each);
    report_out_of_memory(*each);
  }
  if (!out_of_memory.empty()) read_variables_beside(out_of_memory);
  DCMT_RETURN_IF_ERROR(sample_job());
  note_moved(mover_.collect());
  return drained;
}

/// A trace that cannot be written is given up where its records are written.
Status Session::sample_job() {
  std::vector<JobMember> members;
  for (auto& [source, process] : live_) members.push_back({process.pid, process.recorder.get()});
  const Status sampled = job_.poll(members);
  return rules_.ends_with_error ? sampled : Status();
}

Status Session::finish(RecordedProcess& process, const std::string& exit) {
  ProcessRecorder& recorder = *process.recorder;
  const bool refused = recorder.spool().state() == spool::AgentState::kRefused;
  if (refused) note(recorder.spool().message());
  (void)job_.process_ends({process.pid, &recorder});
  const Status done = recorder.finish(exit, "finished");
  report_out_of_memory(process);
  note_out_of_memory(process, exit);
  note_signal(process, exit);
  out_of_memory_ += recorder.totals().out_of_memory;
  steps_ = std::max(steps_, recorder.totals().steps);
  if (!done.ok()) {
    (void)give_up(process, done.error());
    return done;
  }
  const std::string key = spool_stem(process.source);
  const std::string trace = recorder.trace_path();
  if (const std::string error = memory_error_of(trace); !error.empty()) {
    note(name_of(recorder) + " ended with " + error);
  }
  const bool is_kept = rules_.keeps_empty || (!refused && has_content(trace));
  live_.erase(process.source);
  if (!is_kept) {
    std::error_code error;
    fs::remove(trace, error);
    run_.traces.erase(key);
  } else if (folders_.moves()) {
    mover_.add(key, trace);
  } else {
    finished_.push_back(trace);
  }
  return {};
}

void Session::note_signal(const RecordedProcess& process, const std::string& exit) {
  const std::string signal = signal_name(exit);
  if (signal.empty()) return;
  const Totals totals = process.recorder->totals();
  note(fmt::format("{} was ended by {} in step {}: {} were allocated by torch then, {} at the peak",
                   name_of(*process.recorder), signal, totals.steps, rounded_bytes(totals.allocated_bytes),
                   rounded_bytes(totals.peak_bytes)));
}

void Session::close() {
  if (unfinished_ || !moved_.ok()) {
    run_.recorder_pid = 0;
    return;
  }
  run_.state = "finished";
  run_.local_folder.clear();
  remove_local_folder(folders_);
}

std::vector<std::string> Session::notes() const {
  std::vector<std::string> notes = notes_;
  if (out_of_memory_ > reported_) {
    notes.push_back(fmt::format("{} out-of-memory errors in all; each is in: dc-memtrace report {}", out_of_memory_,
                                shell_word(folders_.output)));
  }
  return notes;
}

std::int64_t Session::steps() const {
  std::int64_t most = steps_;
  for (const auto& [source, process] : live_) most = std::max(most, process.recorder->totals().steps);
  return most;
}

std::string Session::status_line() {
  Totals sum;
  std::set<std::int32_t> ranks;
  std::int64_t bytes = 0;
  for (const auto& [source, recorded] : live_) {
    const auto& process = recorded.recorder;
    const Totals totals = process->totals();
    sum.records += totals.records;
    sum.lost += static_cast<std::int64_t>(process->spool().lost());
    // Of the process with the highest peak.
    if (totals.peak_bytes > sum.peak_bytes) sum.allocated_bytes = totals.allocated_bytes;
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
  growth_.add(steps(), sum.allocated_bytes);
  constexpr std::int64_t kLeast = 1024;
  const std::int64_t a_step = growth_.bytes_a_step().value_or(0);
  const std::string growth = a_step >= kLeast ? fmt::format(", {} more each step", rounded_bytes(a_step)) : "";
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_).count();
  return fmt::format("{}step {} · {}:{:02} · {}{} · peak {} · {} records, {} lost, {} on disk", who, steps(),
                     seconds / 60, seconds % 60, rounded_bytes(sum.allocated_bytes), growth,
                     rounded_bytes(sum.peak_bytes), human_count(sum.records), sum.lost, rounded_bytes(bytes));
}

void Session::note_moved(std::vector<MovedTrace> moved) {
  for (const MovedTrace& trace : moved) {
    if (trace.to.ok()) {
      const std::string name = fs::path(*trace.to).filename().string();
      // Another recorder has used the name meanwhile.
      if (std::exchange(run_.traces[trace.key], name) != name) (void)save_run(folders_.output, run_);
      finished_.push_back(*trace.to);
    } else {
      note(trace.to.error().message);
      finished_.push_back(trace.from);
      moved_ = trace.to.error();
    }
  }
}

/// Prints in one piece and begins a new line, because the job writes there, too.
void Session::print(const OomFacts& facts, const ProcessRecorder& process) {
  const std::int32_t rank = process.spool().facts().rank;
  const std::string lines = "\n" + oom_lines(facts, rank >= 0 ? fmt::format(", rank {}", rank) : "", folders_.output);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, lines.data(), lines.size());
}

void Session::report_out_of_memory(RecordedProcess& process) {
  for (OomFacts& facts : process.recorder->drain_out_of_memory()) {
    if (!rules_.reports_out_of_memory) return;
    if (reported_ == kMostReported && facts.number != 0) {
      process.unprinted = std::move(facts);
      continue;
    }
    if (facts.number != 0) ++reported_;
    process.unprinted.reset();
    print(facts, *process.recorder);
  }
}

void Session::note_out_of_memory(const RecordedProcess& process, const std::string& exit) {
  const Totals totals = process.recorder->totals();
  const std::int64_t errors = totals.out_of_memory;
  if (errors == 0) return;
  const std::string who = name_of(*process.recorder);
  if (totals.went_on || exit == "exit 0") {
    return note(errors == 1 ? who + " caught its out-of-memory error and went on"
                            : fmt::format("{} caught its {} out-of-memory errors and went on", who, errors));
  }
  if (process.unprinted) print(*process.unprinted, *process.recorder);
  const bool is_known = exit.starts_with("exit ") && exit != "exit unseen";
  const char* const ended = is_known || !signal_name(exit).empty() ? "ended with" : "did nothing more after";
  note(errors == 1 ? fmt::format("{} {} its out-of-memory error", who, ended)
                   : fmt::format("{} {} the last of its {} out-of-memory errors; it went on after the others", who,
                                 ended, errors));
}

void Session::read_variables_beside(const std::vector<RecordedProcess*>& out_of_memory) {
  if (options_.detail != Detail::kOutOfMemory) return;
  for (RecordedProcess* each : live()) {
    if (std::ranges::find(out_of_memory, each) == out_of_memory.end()) each->recorder->read_variables_soon();
  }
}

Status Session::give_up(const RecordedProcess& process, const Error& error) {
  if (rules_.ends_with_error) return error;
  std::string why = error.message;
  if (why.ends_with('.')) why.pop_back();
  note(fmt::format("recording of process {} stopped: {}. What came after stays in {}",
                   process.recorder->spool().facts().pid, why, process.source));
  unfinished_ = true;
  live_.erase(std::string(process.source));
  return {};
}

}  // namespace dcmt::recorder
