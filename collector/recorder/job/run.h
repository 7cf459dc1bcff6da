// `dc-memtrace run`: starts a command with the agent preloaded, records every process below it that uses torch.
#pragma once

#include <string>
#include <vector>

#include "collector/agent/environment.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/scan/layout/torch_layout.h"
#include "trace/base/detail.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct RunOptions {
  std::string folder;  ///< where traces go
  Detail detail = Detail::kLifetimes;
  std::vector<std::string> operator_tables;  ///< the user's, in order; the shipped one comes after them
  std::string shipped_operators;             ///< path of the shipped table
  std::string libraries;                     ///< folder of the agent and its providers
  std::string prepared;                      ///< folder of the providers made on this machine; empty: none
  scan::LayoutFolders layouts;               ///< where the layouts of torch are
  std::uint32_t spool_mib = 64;              ///< shared memory per traced process
  RetentionOptions retention;                ///< what is kept of long runs
  bool owners = true;                        ///< read the memory of processes to find out who owns storages
  int exit_wait = agent::kDefaultExitWait;   ///< seconds that a program waits at its end for a reading, at most
  bool replace = false;                      ///< replace a run that is in the folder
  bool wait_children = false;                ///< record processes that outlive the command to their end
  bool quiet = false;                        ///< no status line
  std::vector<std::string> command;
};

struct RunResult {
  int job_exit = 0;                 ///< the job's exit code; 128 + signal; 126, 127 as shells do
  std::vector<std::string> traces;  ///< finished traces
  std::vector<std::string> notes;   ///< one line each: what was not recorded and why
};

/// Becomes the command, in standby: whatever uses torch there, or below it, waits to be attached to. Returns only if it
/// could not be started.
Expected<RunResult> exec_in_standby(const std::string& libraries, const std::vector<std::string>& command);

/// Runs the command to its end. An error means that the command was not started.
Expected<RunResult> run(const RunOptions& options);

}  // namespace dcmt::recorder
