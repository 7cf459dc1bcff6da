// Finishing the traces of a run whose recorder died: run.json and the spools may come from anywhere.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/run.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/trace_names.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

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
    name = unused_trace_name(peek->facts().rank, peek->facts().pid, [&](const std::string& each) {
      std::error_code error;
      return fs::exists(fs::symlink_status(fs::path(folder) / each, error));
    });
    DCMT_RETURN_IF_ERROR(save_run(folder, run));  // another report goes on with this name
  }
  Expected<std::unique_ptr<ProcessRecorder>> process =
      ProcessRecorder::resume(spool, folder + "/" + name, {run.command, {}, -1, -1});
  if (!process.ok()) return process.error();
  DCMT_RETURN_IF_ERROR((*process)->finish((*process)->unseen_exit(), "recovered"));
  std::error_code error;
  fs::remove(spool, error);
  return {};
}

Status finish_interrupted_run(const std::string& folder, const std::string& file) {
  Expected<RunState> run = load_run(folder, file);
  if (!run.ok()) return run.error();
  if (run->state != "recording") return {};
  if (is_recording(*run)) return {};  // readers look at the trace as it grows
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

}  // namespace

Status finish_interrupted_run(const std::string& folder) {
  for (const std::string& file : run_files(folder)) DCMT_RETURN_IF_ERROR(finish_interrupted_run(folder, file));
  return {};
}

}  // namespace dcmt::recorder
