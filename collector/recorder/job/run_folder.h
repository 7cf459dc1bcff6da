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
  std::string state;                          ///< "recording" | "finished" | "recovered"
  std::map<std::string, std::string> traces;  ///< spool's file name without its suffix -> file name in the folder
};

/// Makes the folder. kUsage if it already holds a run and `replace` is false; kIo if it cannot be written to.
Status prepare_run_folder(const std::string& folder, bool replace);

/// kIo with one line if no trace can be made in the folder: the job would run for nothing.
Status check_can_hold_traces(const std::string& folder);

/// Writes run.json, whole or not at all.
Status save_run(const std::string& folder, const RunState& run);
/// kBadInput if run.json cannot be what save_run() wrote: it may come from anywhere, and what it names gets written to.
Expected<RunState> load_run(const std::string& folder);
/// True if the folder has a run.json.
bool is_run_folder(const std::string& folder);

/// A private folder (0700) for spools in shared memory, or within `run_folder` if shared memory has less than
/// `wanted_bytes` free.
Expected<std::string> make_spool_folder(const std::string& run_folder, std::uint64_t wanted_bytes);

/// Removes a folder of make_spool_folder() with what a run leaves in it. A folder that cannot be one (another name, a
/// link, not ours, open to others) and files that are none of a run's are left alone: false.
bool remove_spool_folder(const std::string& run_folder, const std::string& spool_folder);

/// kBadInput with one line if `spool_folder` exists, or is named, as make_spool_folder() never makes one. A folder that
/// is gone is fine.
Status check_spool_folder(const std::string& run_folder, const std::string& spool_folder);

/// Start time of a live process in clock ticks since boot; 0 if it is gone or a zombie.
std::uint64_t process_start(std::int64_t pid);

}  // namespace dcmt::recorder
