// The folder of a run: traces, and run.json, which names the folder of the spools while they exist. Ranks that record
// into one folder, each with its own recorder, have run-2.json and so on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

struct RunState {
  std::string file = "run.json";  ///< its name in the folder; not stored in the file
  std::string spool_folder;       ///< empty: none, for an attached process
  std::string local_folder;       ///< where traces are before they are moved to the run's folder; empty: there
  std::int64_t recorder_pid = 0;
  std::uint64_t recorder_start = 0;  ///< start of that process in clock ticks: its pid can be reused later
  std::string host;                  ///< the machine, and its boot
  std::string boot;
  std::string launch;  ///< Launch::name and Launch::member
  std::string member;
  std::string job;  ///< Launch::job and Launch::restart
  std::string restart;
  std::vector<std::string> command;
  std::string state;                          ///< "recording" | "finished" | "recovered"
  std::map<std::string, std::string> traces;  ///< spool's file name without its suffix -> file name in the folder
  std::vector<std::string> notes;             ///< what `run` printed at its end, such as why a process is not recorded
};

/// The files of runs in the folder, by name: run.json, run-2.json. Only regular files count.
std::vector<std::string> run_files(const std::string& folder);

/// Sets the file's name to the first free one, and creates it (0600) with the content of `run`.
Status create_run(const std::string& folder, RunState& run);
/// Rewrites the run's file, completely or not at all.
Status save_run(const std::string& folder, const RunState& run);
/// kBadInput if save_run() cannot have written the file: it may come from anywhere, and files that it names are
/// written.
Expected<RunState> load_run(const std::string& folder, const std::string& file = "run.json");

/// The folder that has the traces of the run until they are finished.
std::string folder_of_traces(const std::string& folder, const RunState& run);

/// Traces of the folder's runs that lie in a local folder.
struct LocalTraces {
  std::vector<std::string> here;   ///< those of this machine, by path
  std::vector<std::string> notes;  ///< a line for each trace that is on another machine
};
LocalTraces local_traces(const std::string& folder);

/// True if the run's recorder is alive, or runs on another machine, where that cannot be checked.
bool is_recording(const RunState& run);
/// Name of this machine, and an id that changes with every boot.
std::string this_host();
std::string this_boot();

/// A private folder (0700) for spools in shared memory, or inside `run_folder` if shared memory has less than
/// `wanted_bytes` free: agents then publish spools without a file there.
Expected<std::string> make_spool_folder(const std::string& run_folder, std::uint64_t wanted_bytes);

/// Removes a folder of make_spool_folder() with the files of a run. A folder that cannot be one (another name, a link,
/// another owner, open to others), and files that do not belong to a run, stay: false.
bool remove_spool_folder(const std::string& run_folder, const std::string& spool_folder);

/// kBadInput with one line if `spool_folder` has a name or properties that make_spool_folder() never creates. A missing
/// folder is valid.
Status check_spool_folder(const std::string& run_folder, const std::string& spool_folder);

}  // namespace dcmt::recorder
