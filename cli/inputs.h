// Opens and loads the traces that the command line names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/model/analysis.h"
#include "trace/base/scratch_folder.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::cli {

/// A trace and its analysis. The data never moves, because the analysis points to it.
struct LoadedTrace {
  std::string path;  ///< as messages print it
  std::unique_ptr<analyzer::TraceData> data;
  analyzer::Analysis analysis;
};

/// A trace that is open but not loaded.
struct OpenedTrace {
  std::string path;        ///< as messages print it
  std::int64_t rank = -1;  ///< -1: none
  Database database;
  std::shared_ptr<ScratchFolder> scratch = {};  ///< the folder of a trace that was made of another file
};

/// All *.dcmt files of the folder, by name, then traces of its run that are still in a local folder; empty if there are
/// none. Fails with kBadInput if the folder is unreadable.
Expected<std::vector<std::string>> trace_files_in(const std::string& folder);

/// Opens all traces that `paths` name: a file is a trace or a memory snapshot of torch; a folder stands for all *.dcmt
/// files in it, and for traces of its run that are still in a local folder. A folder whose recorder died is finished
/// first. Traces come in the order of the paths; within a folder by rank (processes without one last), then by name.
/// With `rank`, only traces of that rank are returned. Fails with kBadInput if a path cannot be used or no trace is
/// left.
Expected<std::vector<OpenedTrace>> open_traces(const std::vector<std::string>& paths, std::optional<std::int64_t> rank);

/// Loads a trace and analyzes it.
Expected<LoadedTrace> load_trace(OpenedTrace trace);

/// Opens and loads all of them.
Expected<std::vector<LoadedTrace>> load_traces(const std::vector<std::string>& paths, std::optional<std::int64_t> rank);

/// Removes what is not of one device (analyzer::keep_device). Keeps everything if `device` is empty.
Status keep_device(LoadedTrace& trace, const std::string& device);

}  // namespace dcmt::cli
