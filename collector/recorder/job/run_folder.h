// The folder of a run: traces, and run.json, which says where the spools are while they exist. Ranks that record into
// one folder, each by a recorder of its own, have a run-2.json and so on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

struct RunState {
  std::string file = "run.json";  ///< its name in the folder; not in the file
  std::string spool_folder;  ///< empty: none, of a process that was attached to
  std::int64_t recorder_pid = 0;
  std::uint64_t recorder_start = 0;  ///< start time of that process in clock ticks: a pid alone can be somebody else's
  std::string host;                  ///< where it runs, and since which start of the machine
  std::string boot;
  std::string launch;  ///< Launch::name and Launch::member
  std::string member;
  std::vector<std::string> command;
  std::string state;                          ///< "recording" | "finished" | "recovered"
  std::map<std::string, std::string> traces;  ///< spool's file name without its suffix -> file name in the folder
  std::vector<std::string> notes;             ///< what `run` printed at its end, such as why a process is not recorded
};

/// The files of runs in the folder, by name: run.json, run-2.json. What is no plain file is none.
std::vector<std::string> run_files(const std::string& folder);

/// Sets the file's name to the first that is free, and makes it (0600) with what `run` says.
Status create_run(const std::string& folder, RunState& run);
/// Writes the run's file anew, whole or not at all.
Status save_run(const std::string& folder, const RunState& run);
/// kBadInput if the file cannot be what save_run() wrote: it may come from anywhere, and what it names gets written to.
Expected<RunState> load_run(const std::string& folder, const std::string& file = "run.json");

/// True if the run's recorder is alive, or runs on another machine, where nobody can see from here whether it is.
bool is_recording(const RunState& run);
/// Name of this machine, and what changes with every start of it.
std::string this_host();
std::string this_boot();

/// A private folder (0700) for spools in shared memory, or within `run_folder` if shared memory has less than
/// `wanted_bytes` free: agents then show spools there that have no file.
Expected<std::string> make_spool_folder(const std::string& run_folder, std::uint64_t wanted_bytes);

/// Removes a folder of make_spool_folder() with what a run leaves in it. A folder that cannot be one (another name, a
/// link, not ours, open to others) and files that are none of a run's are left alone: false.
bool remove_spool_folder(const std::string& run_folder, const std::string& spool_folder);

/// kBadInput with one line if `spool_folder` exists, or is named, as make_spool_folder() never makes one. A folder that
/// is gone is fine.
Status check_spool_folder(const std::string& run_folder, const std::string& spool_folder);

}  // namespace dcmt::recorder
