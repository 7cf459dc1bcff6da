// Where the recordings of a gate come from: traces that are there, or a command that is recorded.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/fact.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// What traces of one run say. Fails with kBadInput if one cannot be read.
Expected<gate::Recording> read_recording(const std::vector<std::string>& paths);

#ifdef DCMT_HAVE_RUN
/// How a command is recorded.
struct GateCommand {
  std::vector<std::string> words;
  std::vector<std::string> operator_tables;
  bool output_aside = false;  ///< what it prints on standard output goes to standard error
};

/// A recording, or the exit code of a command that failed.
struct Recorded {
  int job_exit = 0;
  std::string why;            ///< of a command that could not be started
  gate::Recording recording;  ///< unfit if nothing was recorded
};

/// Records the command into `folder`, replacing what is there. Fails with kCannotRecord if it was not started.
Expected<Recorded> record(const GateCommand& command, const std::string& folder);

/// Removes what record() left in `folder`, and the folder if nothing else is in it.
void drop_recording(const std::string& folder);
#endif

}  // namespace dcmt::cli
