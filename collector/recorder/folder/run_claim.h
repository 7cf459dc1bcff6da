// Claims a folder for a new run.
#pragma once

#include <string>
#include <vector>

#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/target/launch.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// The state of a run that this process begins to record.
RunState state_at_start(std::vector<std::string> command, const TraceFolders& folders);

/// Makes the folder if necessary, and writes `run` into it, under a file name that it stores in RunState::file.
///
/// A folder can have one run, or the runs that one launcher started together, each with another rank, or those of a
/// batch job that was started again. With `replace`, a finished run is removed: its traces, its spools and its
/// run.json, and nothing else. A run that is being recorded is never removed. kUsage if the folder is in use; the
/// message says by which run. kIo if it cannot be written to.
Status claim_run_folder(const std::string& folder, bool replace, const Launch& launch, RunState& run);

/// Makes the output folder if necessary, and a local one if traces cannot be written to it at once (trace_folders()).
/// kIo with one line if the folder cannot be made, or if no trace can be made in it: the job would run in vain.
Expected<TraceFolders> prepare_folders(const std::string& folder, const std::string& scratch);

}  // namespace dcmt::recorder
