// The traced processes of one run: finds their spools, drains them, and finishes them when the processes are gone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/folder/spool_keeper.h"
#include "collector/recorder/folder/trace_mover.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/unseen_processes.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// The state of the command itself; its pid stays in use until its end has been seen.
struct JobState {
  pid_t pid = 0;
  std::optional<int> wait_status;  ///< once it has ended
};

/// Thread-safety: none.
class Session {
 public:
  /// @param layouts  folders of torch's layouts; empty: owners of storages are not searched
  Session(TraceFolders folders, std::string spool_folder, const RetentionOptions& retention, std::string origins,
          scan::LayoutFolders layouts, const Launch& launch, RunState& run);

  /// Drains the spools. Returns the number of records.
  std::size_t poll(const JobState& job);
  /// Ends the recording of processes that are still alive, and waits until all traces are where they belong.
  void abandon_rest();

  [[nodiscard]] bool idle() const { return live_.empty(); }
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  /// A finished trace could not be moved to the output folder. A later report tries again.
  [[nodiscard]] bool unmoved() const { return unmoved_; }
  /// One line each: what was not recorded and why.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] const std::vector<std::string>& finished() const { return finished_; }
  [[nodiscard]] std::string status_line() const;

 private:
  struct Live {
    std::unique_ptr<ProcessRecorder> recorder;
    pid_t pid = 0;  ///< pid in the recorder's namespace; 0 if the process was gone when its spool was found
  };
  void find_new(const JobState& job);
  void open(const std::string& path, const spool::ProcessFacts& facts, const JobState& job);
  void finish_earlier_image(const spool::ProcessFacts& facts);
  Expected<std::unique_ptr<ProcessRecorder>> start_recorder(const std::string& path, const RunFacts& run,
                                                            std::uint32_t pid);
  [[nodiscard]] std::vector<std::string> command_of(std::uint32_t pid) const;
  [[nodiscard]] static std::string exit_of(const Live& live, const JobState& job);
  [[nodiscard]] static bool has_ended(const Live& live, const JobState& job);
  void finish(const std::string& spool_path, ProcessRecorder& process, const std::string& exit);
  void note_moved(std::vector<MovedTrace> moved);
  void report_out_of_memory(ProcessRecorder& process);
  void give_up(const std::string& spool_path, const ProcessRecorder& process, const Error& error);

  const TraceFolders folders_;
  std::string spool_folder_;
  RetentionOptions retention_;
  const std::string origins_;
  const scan::LayoutFolders layouts_;
  const Launch launch_;
  RunState& run_;
  SpoolKeeper keeper_;
  TraceMover mover_;
  std::map<std::string, Live> live_;
  std::set<pid_t> seen_pids_;  ///< processes that have a spool or have reported why not
  UnseenProcesses unseen_;
  std::chrono::steady_clock::time_point last_search_{};
  bool saw_job_end_ = false;
  std::set<std::string> seen_;
  std::set<std::string> names_;
  std::vector<std::string> finished_;
  std::vector<std::string> notes_;
  bool unfinished_ = false, unmoved_ = false;
  std::int64_t reported_ = 0;       ///< out-of-memory errors that were reported
  std::int64_t out_of_memory_ = 0;  ///< such errors of processes that are over
};

}  // namespace dcmt::recorder
