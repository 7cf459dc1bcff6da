#include "collector/recorder/folder/run_claim.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "collector/recorder/folder/folder_lock.h"
#include "collector/recorder/folder/move_trace.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/process_table.h"
#include "trace/spool/spool_reader.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTraceFiles[] = {"", "-wal", "-shm", ".damaged"};

/// A live process of the run.
std::optional<std::int64_t> living_process(const RunState& run) {
  if (is_recording(run)) return run.recorder_pid;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run.spool_folder, error)) {
    if (entry.path().extension() != ".spool") continue;
    // A link is a spool in memory; its name begins with the process's pid.
    const std::int64_t pid = std::strtoll(entry.path().filename().c_str(), nullptr, 10);
    if (entry.is_symlink(error) && process_start(pid) != 0) return pid;
    const Expected<spool::SpoolReader> spool =
        spool::SpoolReader::open(entry.path().string(), spool::Purpose::kInspect);
    if (spool.ok() && ProcessRecorder::is_alive(spool->facts())) return spool->facts().pid;
  }
  return std::nullopt;
}

/// Removes the files of a run. run.json is the last one, so that an interrupted removal can be repeated.
Status remove_run(const std::string& folder, const RunState& run) {
  const bool has_local = !run.local_folder.empty() && run.host == this_host();
  if (has_local) DCMT_RETURN_IF_ERROR(check_local_folder(run.local_folder));
  if (!run.spool_folder.empty()) {
    DCMT_RETURN_IF_ERROR(check_spool_folder(folder_of_traces(folder, run), run.spool_folder));
    remove_spool_folder(folder_of_traces(folder, run), run.spool_folder);
  }
  std::vector<std::string> files;
  for (const auto& [spool, name] : run.traces) {
    for (const char* suffix : kTraceFiles) {
      files.push_back(folder + "/" + name + suffix);
      if (has_local) files.push_back(run.local_folder + "/" + name + suffix);
    }
    remove_partial_copies(folder, name);
  }
  files.push_back(folder + "/" + run.file);
  for (const std::string& path : files) {
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
      return {ErrorCode::kIo, path + ": cannot be removed: " + std::strerror(errno)};
    }
  }
  if (has_local) remove_local_folder(run.local_folder);
  return {};
}

/// Removes other runs that are in the way.
Status replace_runs(const std::string& folder, bool replace, const std::vector<RunState>& runs) {
  for (const RunState& other : runs) {
    if (const auto pid = living_process(other)) {
      return {ErrorCode::kUsage,
              fmt::format("{}: process {} of a run that is recorded there is alive{}. Choose another folder with -o.",
                          folder, *pid, other.host == this_host() ? "" : " on " + other.host)};
    }
  }
  if (!runs.empty() && !replace) {
    return {ErrorCode::kUsage,
            folder + " already holds a run. Choose another folder with -o, or add --force to replace it."};
  }
  for (const RunState& other : runs) DCMT_RETURN_IF_ERROR(remove_run(folder, other));
  return {};
}

/// Fails if there are traces of no run in the folder: they would look like traces of this run.
Status check_no_other_traces(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".dcmt") continue;
    return {ErrorCode::kUsage,
            fmt::format("{} is a trace of no run that is in the folder. Move it, or choose another folder with -o.",
                        entry.path().string())};
  }
  return {};
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error)) {
    return {ErrorCode::kIo, folder + ": the output folder cannot be made: " + error.message()};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return {ErrorCode::kIo, folder + ": the output folder cannot be written to: " + std::strerror(errno)};
  }
  return {};
}

}  // namespace

RunState state_at_start(std::vector<std::string> command, const TraceFolders& folders) {
  RunState state;
  if (folders.moves()) state.local_folder = folders.local;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.host = this_host();
  state.boot = this_boot();
  state.command = std::move(command);
  state.state = "recording";
  return state;
}

Expected<TraceFolders> prepare_folders(const std::string& folder, const std::string& scratch) {
  DCMT_RETURN_IF_ERROR(make_folder(folder));
  DCMT_ASSIGN_OR_RETURN(TraceFolders folders, trace_folders(folder, scratch));
  const std::string path = fmt::format("{}/.probe-{}-{}", folders.local, getpid(), process_start(getpid()));
  Status status;
  {
    const Expected<Database> probe = create_trace(path);
    status = probe.status();
  }
  remove_trace(path);
  if (status.ok()) return folders;
  remove_local_folder(folders);
  return Error{ErrorCode::kIo, status.error().message +
                                   " Traces cannot be written there (no room, or a file system without locks, as some "
                                   "network ones): write them to a local folder first, with --scratch."};
}

Status claim_run_folder(const std::string& folder, bool replace, const Launch& launch, RunState& run) {
  const FolderLock lock(folder);
  std::vector<RunState> others;
  for (const std::string& file : run_files(folder)) {
    Expected<RunState> other = load_run(folder, file);
    if (!other.ok()) return Error{ErrorCode::kUsage, other.error().message + "; choose another folder with -o."};
    others.push_back(std::move(*other));
  }
  const bool joins = std::all_of(others.begin(), others.end(), [&](const RunState& other) {
    const bool launched_together = !launch.name.empty() && other.launch == launch.name && other.member != launch.member;
    const bool started_before = !launch.job.empty() && other.job == launch.job && other.restart != launch.restart;
    return launched_together || started_before;
  });
  if (others.empty() || !joins) {
    DCMT_RETURN_IF_ERROR(replace_runs(folder, replace, others));
    DCMT_RETURN_IF_ERROR(check_no_other_traces(folder));
  }
  run.launch = launch.name;
  run.member = launch.member;
  run.job = launch.job;
  run.restart = launch.restart;
  return create_run(folder, run);
}

}  // namespace dcmt::recorder
