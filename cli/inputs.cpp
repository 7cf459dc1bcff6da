#include "cli/inputs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/long_work.h"
#include "cli/text.h"
#include "collector/recorder/folder/interrupted_run.h"
#include "collector/recorder/folder/run_folder.h"
#include "convert/snapshot/snapshot_trace.h"
#include "trace/base/printable.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/read_meta.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

/// Opens a memory snapshot by means of a temporary trace.
Expected<OpenedTrace> open_snapshot(const std::string& path) {
  const LongWork work(printable(path));
  auto scratch = std::make_shared<ScratchFolder>();
  if (scratch->path().empty()) return Error{ErrorCode::kIo, "no temporary folder can be made; TMPDIR names where."};
  DCMT_ASSIGN_OR_RETURN(const convert::MemorySnapshot snapshot, convert::read_snapshot(path));
  const std::string trace = (scratch->path() / "snapshot.dcmt").string();
  DCMT_RETURN_IF_ERROR(convert::write_snapshot_trace(snapshot, trace, work.watch()));
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(trace));
  return OpenedTrace{printable(path), -1, std::move(database), std::move(scratch)};
}

Expected<OpenedTrace> open(const std::string& path) {
  if (convert::is_pickle(path)) return open_snapshot(path);
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> rank, meta_integer(database, meta::kRank));
  return OpenedTrace{printable(path), rank.value_or(-1), std::move(database), {}};
}

/// The final notes of the runs into the folder. They say why it has no trace.
std::string notes_of_runs(const std::string& folder) {
  std::string text;
  for (const std::string& file : recorder::run_files(folder)) {
    const Expected<recorder::RunState> run = recorder::load_run(folder, file);
    if (!run.ok()) continue;
    for (const std::string& note : run->notes) text += (text.empty() ? "" : "; ") + note;
  }
  return text;
}

Status check_readable(const std::string& trace) {
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(trace));
  return analyzer::TraceData::load(database).status();
}

Expected<std::vector<std::string>> traces_in(const std::string& folder) {
  const Expected<std::vector<std::string>> notes = recorder::finish_interrupted_run(folder, check_readable);
  if (!notes.ok()) {
    if (notes.error().code != ErrorCode::kCannotRecord) return notes.error();
    print_error(notes.error());  // the run cannot be finished yet, but its trace can be read
  } else {
    for (const std::string& note : *notes) print_note(note);
  }
  Expected<std::vector<std::string>> files = trace_files_in(folder);
  const std::vector<std::string> elsewhere = recorder::local_traces(folder).notes;
  if (files.ok() && files->empty() && !elsewhere.empty()) {
    return Error{ErrorCode::kBadInput, folder + ": no trace (*.dcmt) in this folder yet. " + joined(elsewhere, "; ")};
  }
  for (const std::string& note : elsewhere) print_note(folder + ": " + note);
  if (files.ok() && files->empty()) {
    if (const std::string said = notes_of_runs(folder); !said.empty()) {
      return Error{ErrorCode::kBadInput, folder + ": no trace (*.dcmt) in this folder. Its run said: " + said};
    }
    return Error{ErrorCode::kBadInput, folder + ": no trace (*.dcmt) in this folder. Record one: dc-memtrace run -o " +
                                           folder + " -- <command>"};
  }
  return files;
}

}  // namespace

Expected<std::vector<std::string>> trace_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".dcmt") files.push_back(at->path().string());
  }
  if (error) return Error{ErrorCode::kBadInput, folder + ": cannot be read: " + error.message() + "."};
  std::sort(files.begin(), files.end());
  const std::vector<std::string> local = recorder::local_traces(folder).here;
  files.insert(files.end(), local.begin(), local.end());
  return files;
}

Expected<std::vector<OpenedTrace>> open_traces(const std::vector<std::string>& paths,
                                               std::optional<std::int64_t> rank) {
  std::vector<OpenedTrace> traces;
  for (const std::string& given : paths) {
    DCMT_ASSIGN_OR_RETURN(const std::string path, run_named(given));
    std::vector<std::string> files{path};
    std::error_code ignored;  // open_trace reports why a path cannot be used
    if (fs::is_directory(path, ignored)) {
      DCMT_ASSIGN_OR_RETURN(std::vector<std::string> found, traces_in(path));
      files = std::move(found);
    }
    const auto first = static_cast<std::ptrdiff_t>(traces.size());
    for (const std::string& file : files) {
      DCMT_ASSIGN_OR_RETURN(OpenedTrace trace, open(file));
      if (!rank || trace.rank == *rank) traces.push_back(std::move(trace));
    }
    std::stable_sort(traces.begin() + first, traces.end(), [](const OpenedTrace& a, const OpenedTrace& b) {
      return std::pair(a.rank < 0, a.rank) < std::pair(b.rank < 0, b.rank);
    });
  }
  if (traces.empty())
    return Error{ErrorCode::kBadInput, "no trace of rank " + std::to_string(rank.value_or(0)) + " there."};
  return traces;
}

Expected<LoadedTrace> load_trace(OpenedTrace trace) {
  const LongWork work(trace.path);
  DCMT_ASSIGN_OR_RETURN(analyzer::TraceData data, analyzer::TraceData::load(trace.database, work.watch().part(0, 0.7)));
  auto kept = std::make_unique<analyzer::TraceData>(std::move(data));
  kept->path = trace.path;
  DCMT_ASSIGN_OR_RETURN(analyzer::Analysis analysis, analyzer::analyze(*kept, work.watch().part(0.7, 1)));
  return LoadedTrace{std::move(trace.path), std::move(kept), std::move(analysis)};
}

Expected<std::vector<LoadedTrace>> load_traces(const std::vector<std::string>& paths,
                                               std::optional<std::int64_t> rank) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces(paths, rank));
  std::vector<LoadedTrace> traces;
  for (OpenedTrace& trace : opened) {
    DCMT_ASSIGN_OR_RETURN(LoadedTrace loaded, load_trace(std::move(trace)));
    traces.push_back(std::move(loaded));
  }
  return traces;
}

Status keep_device(LoadedTrace& trace, const std::string& device) {
  return device.empty() ? Status() : analyzer::keep_device(trace.analysis, trace.path, device);
}

}  // namespace dcmt::cli
