// The processes of one recording: begins their traces, drains their spools, and finishes the traces.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/console/step_growth.h"
#include "collector/recorder/drive/job_samples.h"
#include "collector/recorder/drive/recording_options.h"
#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/folder/trace_mover.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/watched_exit.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// How `run` and `attach` differ in what a process means to them.
struct SessionRules {
  /// An error of one process ends the recording of all: there is nothing else to do. If false, it is a note: a job
  /// runs, and its other processes are still recorded.
  bool ends_with_error = false;
  /// The user has named the processes, so each has a trace, even without a tensor. If false, it is removed: launchers
  /// import torch and never make a tensor.
  bool keeps_empty = false;
  /// Prints out-of-memory errors at once, because the job may hang or be killed next.
  bool reports_out_of_memory = true;
};

/// A process to record.
struct NewProcess {
  std::string source;  ///< path of its spool; for a spool in memory, a name
  spool::SpoolReader spool;
  pid_t pid = 0;             ///< in the recorder's namespace; 0: it was gone when its spool was found
  std::uint32_t number = 0;  ///< pid for the name of its trace
  std::vector<std::string> command;
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  bool has_past = false;  ///< it was attached to, so what it had before is read first
};

/// A process that is recorded.
struct RecordedProcess {
  std::string source;  ///< as in NewProcess
  pid_t pid = 0;       ///< as in NewProcess
  std::unique_ptr<ProcessRecorder> recorder;
  WatchedExit exit;
  std::optional<OomFacts> unprinted = {};  ///< of the latest error, if that was not printed
};

/// "rank 3", "process 4711".
[[nodiscard]] std::string name_of(const ProcessRecorder& recorder);

/// Thread-safety: none.
class Session {
 public:
  /// @param options, run  must outlive it  @param origins  OperatorTables::origins
  Session(const RecordingOptions& options, TraceFolders folders, std::string origins, RunState& run,
          SessionRules rules);

  /// The process that was started as the job: all below it count for the job's memory, recorded or not.
  void begin_with(pid_t first) { job_.begin_with(first); }
  /// Begins the trace of a process, and adds its name to run.json. The result is valid until its trace is finished, or
  /// until drain() gives it up.
  Expected<RecordedProcess*> begin(NewProcess process);
  /// Drains all spools. Returns the number of records.
  Expected<std::size_t> drain();
  /// Finishes the trace of a process. An error is noted if the rules say so.
  /// @param exit  as in meta::kExit
  Status finish(RecordedProcess& process, const std::string& exit);
  /// Waits until all finished traces are where they belong.
  void wait_for_moves() { note_moved(mover_.wait()); }
  /// Sets the run's state for its end. If all is well, removes the local folder.
  void close();
  /// Drops all processes; their traces stay unfinished.
  void abandon() { live_.clear(); }

  void note(std::string text) { notes_.push_back(std::move(text)); }

  [[nodiscard]] std::vector<RecordedProcess*> live();
  [[nodiscard]] bool idle() const { return live_.empty(); }
  /// Part of what was published is in no trace yet.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  /// Why a finished trace could not be moved to the output folder. A later report tries again.
  [[nodiscard]] const Status& moved() const { return moved_; }
  /// One line each: what was not recorded and why.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] const std::vector<std::string>& finished() const { return finished_; }
  /// Steps of the process with the most.
  [[nodiscard]] std::int64_t steps() const;
  /// Call it regularly: it compares the figures of different times.
  [[nodiscard]] std::string status_line();

 private:
  Status sample_job();
  void note_signal(const RecordedProcess& process, const std::string& exit);
  void note_moved(std::vector<MovedTrace> moved);
  void report_out_of_memory(RecordedProcess& process);
  void print(const OomFacts& facts, const ProcessRecorder& process);
  /// Whether the process ended by its latest out-of-memory error, and what was alive then unless that was printed.
  void note_out_of_memory(const RecordedProcess& process, const std::string& exit);
  /// In the other processes of the job.
  void read_variables_beside(const std::vector<RecordedProcess*>& out_of_memory);
  Status give_up(const RecordedProcess& process, const Error& error);

  const RecordingOptions& options_;
  const TraceFolders folders_;
  const std::string origins_;
  RunState& run_;
  const SessionRules rules_;
  TraceMover mover_;
  std::map<std::string, RecordedProcess> live_;  ///< by source
  std::vector<std::string> finished_;
  JobSamples job_;
  StepGrowth growth_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::vector<std::string> notes_;
  bool unfinished_ = false;
  Status moved_;
  std::int64_t steps_ = 0;          ///< of processes that are over
  std::int64_t reported_ = 0;       ///< out-of-memory errors that were reported
  std::int64_t out_of_memory_ = 0;  ///< such errors of processes that are over
};

}  // namespace dcmt::recorder
