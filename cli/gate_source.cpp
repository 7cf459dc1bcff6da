#include "cli/gate_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include "analyzer/compare/memory_facts.h"
#include "cli/inputs.h"
#include "cli/installation.h"
#include "cli/redirects.h"
#include "collector/recorder/drive/run.h"
#include "collector/recorder/folder/run_folder.h"
#include "trace/base/printable.h"

namespace dcmt::cli {

Expected<gate::Recording> read_recording(const std::vector<std::string>& paths) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces(paths, std::nullopt));
  std::vector<analyzer::MemoryFacts> ranks;
  for (OpenedTrace& each : opened) {
    DCMT_ASSIGN_OR_RETURN(const LoadedTrace trace, load_trace(std::move(each)));
    ranks.push_back(analyzer::memory_facts(trace.path, trace.analysis));
  }
  return gate::recording_of(std::move(ranks));
}

namespace {

namespace fs = std::filesystem;

}  // namespace

Expected<Recorded> record(const GateCommand& command, const std::string& folder) {
  recorder::RunOptions run;
  run.folder = folder;
  run.libraries = library_folder().string();
  run.prepared = prepared_folder().string();
  run.layouts = {(data_folder() / "layouts").string(), run.prepared};
  run.shipped_operators = (data_folder() / "operators.toml").string();
  run.operator_tables = command.operator_tables;
  run.replace = true;
  run.command = command.words;
  const StdoutRedirect aside(command.output_aside);
  DCMT_ASSIGN_OR_RETURN(const recorder::RunResult result, recorder::run(run));
  Recorded recorded;
  recorded.job_exit = result.job_exit;
  std::string notes;
  for (const std::string& note : result.notes) notes += (notes.empty() ? "" : "; ") + printable(note);
  if (result.job_exit != 0) {
    constexpr int kNoSuchCommand = 126;  // or 127; the codes that shells use
    if (result.job_exit == kNoSuchCommand || result.job_exit == kNoSuchCommand + 1) recorded.why = std::move(notes);
    return recorded;
  }
  if (result.traces.empty()) {
    recorded.recording.unfit.push_back(notes.empty() ? "nothing was recorded" : std::move(notes));
    return recorded;
  }
  DCMT_ASSIGN_OR_RETURN(recorded.recording, read_recording({folder}));
  return recorded;
}

void drop_recording(const std::string& folder) {
  std::error_code ignored;
  for (const std::string& file : recorder::run_files(folder)) {
    const Expected<recorder::RunState> run = recorder::load_run(folder, file);
    if (!run.ok()) continue;
    for (const auto& [spool, trace] : run->traces) fs::remove(fs::path(folder) / trace, ignored);
    fs::remove(fs::path(folder) / file, ignored);
  }
  fs::remove(folder, ignored);
}

}  // namespace dcmt::cli
