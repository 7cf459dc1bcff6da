// From the paths on the command line to traces.
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

/// A trace and its analysis; the data stays where the analysis points to.
struct LoadedTrace {
  std::string path;  ///< as it is printed
  std::unique_ptr<analyzer::TraceData> data;
  analyzer::Analysis analysis;
};

/// A trace that was looked at and not read.
struct OpenedTrace {
  std::string path;        ///< as it is printed
  std::int64_t rank = -1;  ///< -1: none
  Database database;
  std::shared_ptr<ScratchFolder> scratch = {};  ///< where the trace lies that was made of another file
};

/// Every *.dcmt in the folder, by name; empty if there is none. Fails with kBadInput if the folder cannot be read.
Expected<std::vector<std::string>> trace_files_in(const std::string& folder);

/// Opens every trace that `paths` name: a file is a trace or a memory snapshot of torch, a folder stands for every
/// *.dcmt in it. A folder whose recorder died is finished first. Traces come in the order of the paths, within a folder
/// by rank, then name. With `rank`, only traces of that rank stay. Fails with kBadInput if a path cannot be used or
/// nothing is left.
Expected<std::vector<OpenedTrace>> open_traces(const std::vector<std::string>& paths, std::optional<std::int64_t> rank);

/// Reads a trace and analyzes it.
Expected<LoadedTrace> load_trace(OpenedTrace trace);

/// Opens them and reads all of them.
Expected<std::vector<LoadedTrace>> load_traces(const std::vector<std::string>& paths, std::optional<std::int64_t> rank);

/// Leaves what is of one device (analyzer::keep_device), everything if `device` is empty.
Status keep_device(LoadedTrace& trace, const std::string& device);

}  // namespace dcmt::cli
