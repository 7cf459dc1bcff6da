// The sources of a gate's recordings: existing traces, or a command that is recorded.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/fact.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// The recording in the traces of one run. Fails with kBadInput if one cannot be read.
Expected<gate::Recording> read_recording(const std::vector<std::string>& paths);

/// How to record a command.
struct GateCommand {
  std::vector<std::string> words;
  std::vector<std::string> operator_tables;
  bool output_aside = false;  ///< its standard output goes to standard error
};

/// A recording, or the exit code of a command that failed.
struct Recorded {
  int job_exit = 0;
  std::string why;            ///< why the command could not be started
  gate::Recording recording;  ///< unfit if nothing was recorded
};

/// Records the command into `folder` and replaces what was there. Fails with kCannotRecord if it was not started.
Expected<Recorded> record(const GateCommand& command, const std::string& folder);

/// Removes what record() wrote to `folder`, and the folder if it is empty then.
void drop_recording(const std::string& folder);

}  // namespace dcmt::cli
