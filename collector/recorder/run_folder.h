// The folder of one run: traces, and run.json, which says where the spools are while they exist.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

struct RunState {
  std::string spool_folder;
  std::int64_t recorder_pid = 0;
  std::uint64_t recorder_start = 0;  ///< start time of that process in clock ticks: a pid alone can be somebody else's
  std::vector<std::string> command;
  std::string state;                           ///< "recording" | "finished" | "recovered"
  std::map<std::int64_t, std::string> traces;  ///< pid of the traced process -> file name in the folder
};

/// Makes the folder. kUsage if it already holds a run and `replace` is false; kIo if it cannot be written to.
Status prepare_run_folder(const std::string& folder, bool replace);

/// Writes run.json, whole or not at all.
Status save_run(const std::string& folder, const RunState& run);
Expected<RunState> load_run(const std::string& folder);
/// True if the folder has a run.json.
bool is_run_folder(const std::string& folder);

/// A private folder (0700) for spools in shared memory, or within `run_folder` if shared memory has less than
/// `wanted_bytes` free.
Expected<std::string> make_spool_folder(const std::string& run_folder, std::uint64_t wanted_bytes);

/// Start time of a live process in clock ticks since boot; 0 if it is gone or a zombie.
std::uint64_t process_start(std::int64_t pid);

}  // namespace dcmt::recorder
