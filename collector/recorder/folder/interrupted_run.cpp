// run.json and the spools are untrusted: they may come from anywhere.
#include "collector/recorder/folder/interrupted_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collector/recorder/folder/folder_lock.h"
#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/move_trace.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/folder/trace_names.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/process_table.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

/// The run, if it must be finished: no recorder of it is alive.
Expected<std::optional<RunState>> interrupted_run(const std::string& folder, const std::string& file) {
  DCMT_ASSIGN_OR_RETURN(RunState run, load_run(folder, file));
  if (run.state != "recording") return std::optional<RunState>();
  if (is_recording(run)) return std::optional<RunState>();  // readers read the growing trace
  // Only its own machine has the traces.
  if (!run.local_folder.empty() && run.host != this_host()) return std::optional<RunState>();
  return std::optional(std::move(run));
}

/// A trace that is written to must be a regular file of the folder: a link could lead anywhere.
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

/// Finishes what can be finished, and reports the rest.
class Recovery {
 public:
  Recovery(std::string folder, RunState run, const TraceCheck& check)
      : folder_(std::move(folder)), run_(std::move(run)), local_(folder_of_traces(folder_, run_)), check_(check) {}

  Expected<std::vector<std::string>> finish() {
    // The spool of an attached process was in no folder, and is gone.
    if (moves()) DCMT_RETURN_IF_ERROR(check_local_folder(local_));
    if (!run_.spool_folder.empty()) DCMT_RETURN_IF_ERROR(check_spool_folder(local_, run_.spool_folder));
    DCMT_RETURN_IF_ERROR(check_traces(folder_, run_));
    if (moves()) DCMT_RETURN_IF_ERROR(check_traces(local_, run_));
    DCMT_RETURN_IF_ERROR(find_spools());
    if (access(folder_.c_str(), W_OK) != 0) {
      notes_.push_back(folder_ + ": cannot be written to, so its traces are shown as they were last committed");
      return std::move(notes_);
    }
    for (const std::string& spool : spools_) {
      if (const Status done = recover(spool); !done.ok()) put_off(done.error().message);
    }
    // A trace without a spool (a reboot removes shared memory) ends at its last commit.
    std::error_code error;
    for (const auto& [spool, name] : run_.traces) {
      if (!fs::exists(trace_path(name), error)) continue;
      const Status done = ProcessRecorder::finish_without_spool(trace_path(name), "recovered");
      if (!done.ok()) put_off(done.error().message);
    }
    if (moves()) move_traces();
    if (put_off_) return std::move(notes_);
    if (!keeps_spools_) {
      remove_spool_folder(local_, run_.spool_folder);
      run_.spool_folder.clear();
      if (moves()) remove_local_folder(local_);
      run_.local_folder.clear();
    }
    run_.state = "recovered";
    DCMT_RETURN_IF_ERROR(save_run(folder_, run_));
    return std::move(notes_);
  }

 private:
  [[nodiscard]] bool moves() const { return local_ != folder_; }
  [[nodiscard]] std::string trace_path(const std::string& name) const { return local_ + "/" + name; }

  /// What the recorder could not move, or had only begun to.
  void move_traces() {
    std::error_code error;
    if (!run_.traces.empty() && !fs::exists(local_, error)) {
      notes_.push_back(fmt::format("{}: its traces were in {}, which is not there any more", folder_, local_));
    }
    for (auto& [spool, name] : run_.traces) {
      remove_partial_copies(folder_, name);
      if (!fs::exists(trace_path(name), error)) continue;
      const Expected<std::string> moved = move_trace(trace_path(name), folder_);
      if (moved.ok()) {
        name = fs::path(*moved).filename().string();
      } else {
        put_off(moved.error().message);
      }
    }
  }

  /// The run must be finished by a later report, for example because the disk is full.
  void put_off(const std::string& why) {
    notes_.push_back(why);
    put_off_ = true;
  }

  /// Finds the readable spools; kCannotRecord if one of their processes is alive.
  Status find_spools() {
    std::error_code error;
    if (run_.spool_folder.empty()) return {};
    for (const auto& entry : fs::directory_iterator(run_.spool_folder, error)) {
      const std::string path = entry.path().string();
      if (entry.path().extension() != ".spool") continue;
      if (entry.is_symlink(error)) DCMT_RETURN_IF_ERROR(wait_for_keeper(entry.path()));
      if (!fs::exists(fs::symlink_status(path, error))) continue;
      const Expected<spool::SpoolReader> peek = spool::SpoolReader::open(path, spool::Purpose::kInspect);
      if (!peek.ok()) {
        // An empty file has no data.
        if (fs::file_size(path, error) == 0 && !error) continue;
        notes_.push_back(peek.error().message + ". Its trace ends at its last commit; the file is kept.");
        keeps_spools_ = true;
        continue;
      }
      if (ProcessRecorder::is_alive(peek->facts())) return still_runs(peek->facts().pid);
      spools_.push_back(path);
    }
    return {};
  }

  [[nodiscard]] Status still_runs(std::int64_t pid) const {
    return {ErrorCode::kCannotRecord,
            fmt::format("{}: its recorder is gone but process {} still runs; this is what was recorded before. Report "
                        "again when it has ended.",
                        folder_, pid)};
  }

  /// A link is a spool in memory: its keeper replaces it by a file when the process has ended.
  Status wait_for_keeper(const fs::path& link) {
    constexpr auto kPause = std::chrono::milliseconds(20);
    constexpr int kMostPauses = 500;
    std::error_code error;
    const std::int64_t pid = std::strtoll(link.filename().c_str(), nullptr, 10);
    if (process_start(pid) != 0) return still_runs(pid);
    for (int pause = 0; pause < kMostPauses && fs::is_symlink(link, error); ++pause)
      std::this_thread::sleep_for(kPause);
    if (!fs::is_symlink(link, error)) return {};
    notes_.push_back(fmt::format("{}: what process {} had in memory is gone. Its trace ends at its last commit.",
                                 link.string(), pid));
    fs::remove(link, error);
    return {};
  }

  /// Finishes the trace of one spool, and removes the spool if the trace is readable.
  Status recover(const std::string& spool) {
    std::string& name = run_.traces[spool_stem(spool)];
    if (name.empty()) {
      DCMT_ASSIGN_OR_RETURN(const spool::SpoolReader peek, spool::SpoolReader::open(spool, spool::Purpose::kInspect));
      name = unused_trace_name(peek.facts().rank, peek.facts().pid, [&](const std::string& each) {
        std::error_code error;
        return fs::exists(fs::symlink_status(trace_path(each), error)) ||
               fs::exists(fs::symlink_status(folder_ + "/" + each, error));
      });
      DCMT_RETURN_IF_ERROR(save_run(folder_, run_));  // a later report continues with this name
    }
    const std::string trace = trace_path(name);
    DCMT_ASSIGN_OR_RETURN(std::unique_ptr<ProcessRecorder> process,
                          ProcessRecorder::resume(spool, trace, {run_.command, {}, -1, -1}));
    DCMT_RETURN_IF_ERROR(process->finish(process->unseen_exit(), "recovered"));
    if (const std::uint64_t damaged = process->spool().damaged_chunks(); damaged != 0) {
      notes_.push_back(
          fmt::format("{}: {} of its spool's {} chunks could not be read to their end; what they had is missing", trace,
                      damaged, process->spool().chunks()));
    }
    process.reset();
    std::error_code error;
    if (const Status readable = check_(trace); !readable.ok()) {
      fs::rename(trace, trace + ".damaged", error);
      run_.traces.erase(spool_stem(spool));
      keeps_spools_ = true;
      notes_.push_back(fmt::format("{} Its spool is kept: {}", readable.error().message, spool));
      return {};
    }
    fs::remove(spool, error);
    return {};
  }

  const std::string folder_;
  RunState run_;
  const std::string local_;  ///< has the traces and spools; often the same folder
  const TraceCheck& check_;
  std::vector<std::string> spools_, notes_;
  bool keeps_spools_ = false, put_off_ = false;
};

}  // namespace

Expected<std::vector<std::string>> finish_interrupted_run(const std::string& folder, const TraceCheck& check) {
  std::vector<std::string> notes;
  for (const std::string& file : run_files(folder)) {
    Expected<std::optional<RunState>> run = interrupted_run(folder, file);
    if (!run.ok()) return run.error();
    if (!*run) continue;
    const FolderLock lock(folder);
    run = interrupted_run(folder, file);  // another process may have finished it meanwhile
    if (!run.ok()) return run.error();
    if (!*run) continue;
    DCMT_ASSIGN_OR_RETURN(std::vector<std::string> more, Recovery(folder, std::move(**run), check).finish());
    notes.insert(notes.end(), more.begin(), more.end());
  }
  return notes;
}

}  // namespace dcmt::recorder
