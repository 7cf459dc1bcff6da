// Resolves `attach PID`, `--name GLOB` and `--all-ranks` to processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "collector/recorder/target/target_process.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct TargetChoice {
  pid_t pid = 0;              ///< 0: no pid was given
  std::string name;           ///< shell pattern for the program, its script or its module; empty: none was given
  bool all_ranks = false;     ///< all ranks of its launch; of the only launch if neither pid nor name is given
  bool only_standby = false;  ///< exclude processes without the agent
};

/// True if the pattern matches the process's name, the file of its program, or what Python runs in it.
bool has_name(const TargetProcess& target, const std::string& pattern);

/// The chosen processes among the given ones, sorted by rank. kCannotRecord in one line if there is none or the choice
/// is ambiguous.
Expected<std::vector<pid_t>> choose_among(const std::vector<TargetProcess>& there, const TargetChoice& choice);

/// The chosen processes among all. A process that is chosen by its pid need not be in standby.
Expected<std::vector<pid_t>> choose_targets(const TargetChoice& choice);

}  // namespace dcmt::recorder
