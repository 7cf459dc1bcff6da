// Taking a folder for a new run.
#pragma once

#include <string>

#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/target/launch.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Makes the folder if need be, and writes `run` into it, under a name of its own in RunState::file.
///
/// A folder has room for one run, or for those that one launcher started together, each of another rank. With
/// `replace`, a run that is over makes room: its traces, its spools and its run.json are removed, and nothing else.
/// A run that is recorded at the moment never does. kUsage if the folder is taken, by whom is said; kIo if it cannot be
/// written to.
Status claim_run_folder(const std::string& folder, bool replace, const Launch& launch, RunState& run);

/// kIo with one line if the folder cannot be made or no trace can be made in it: the job would run for nothing.
Status check_can_hold_traces(const std::string& folder);

}  // namespace dcmt::recorder
