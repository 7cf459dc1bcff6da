// `dc-memtrace run`: starts a command with the agent preloaded, and records every child process that uses torch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/recorder/drive/recording_options.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// A parameter: its graph, and its number within the graph. The agent reads them in this form.
struct ProvedKey {
  std::int64_t graph = 0, key = 0;
};

struct RunOptions : RecordingOptions {
  std::string libraries;       ///< folder of the agent and its providers
  bool wait_children = false;  ///< also record processes that outlive the command, to their end
  std::vector<std::string> command;
  std::vector<ProvedKey> prove;  ///< ascending: what their releases leave is fenced, or as `prove_by` says
  /// The graphs of the run that `prove` is of whose numbers are addresses, in the order of their first gathers.
  std::vector<std::int64_t> proved_graphs;
  std::string prove_by;  ///< as agent::kEnvProveBy
};

struct RunResult {
  int job_exit = 0;                 ///< the job's exit code; 128 + signal; 126, 127 as shells do
  bool asked_to_end = false;        ///< a signal asked for the job's end, while it ran
  std::vector<std::string> traces;  ///< finished traces
  std::vector<std::string> notes;   ///< one line each: what was not recorded and why
};

/// Replaces this process by the command, in standby: processes that use torch wait for an attach. Returns only if the
/// command could not be started.
Expected<RunResult> exec_in_standby(const std::string& libraries, const std::vector<std::string>& command);

/// Runs the command to its end. An error means that the command was not started.
Expected<RunResult> run(const RunOptions& options);

}  // namespace dcmt::recorder
