// Which processes are meant by `attach PID`, `--name GLOB` and `--all-ranks`.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "collector/recorder/target/target_process.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct TargetChoice {
  pid_t pid = 0;              ///< 0: not named so
  std::string name;           ///< pattern as of a shell, for the program, its script or its module; empty: not named so
  bool all_ranks = false;     ///< all ranks of its launch; of the only launch if neither pid nor name is given
  bool only_standby = false;  ///< none of those into which the agent would have to be put
};

/// Whether the pattern is meant for this process: its name, the file of its program, or what Python runs in it.
bool has_name(const TargetProcess& target, const std::string& pattern);

/// What is meant, of those that there are, by rank. kCannotRecord in one line if that is none, or not clear.
Expected<std::vector<pid_t>> choose_among(const std::vector<TargetProcess>& there, const TargetChoice& choice);

/// The same among the processes that there are. One that is named by its pid need not be in standby.
Expected<std::vector<pid_t>> choose_targets(const TargetChoice& choice);

}  // namespace dcmt::recorder
