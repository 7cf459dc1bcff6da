// The traced processes of one run: finds their spools, drains them, finishes them when they are gone.
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

#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/keep/retention_policy.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// What came of the command itself, whose pid is not free before its end has been seen.
struct JobState {
  pid_t pid = 0;
  std::optional<int> wait_status;  ///< once it has ended
};

/// Thread-safety: none.
class Session {
 public:
  Session(std::string folder, std::string spool_folder, const RetentionOptions& retention, std::string origins,
          RunState& run, bool shows_status);

  /// Drains the spools. Returns how many records there were.
  std::size_t poll(const JobState& job);
  /// Ends the recording of processes that are still alive.
  void abandon_rest();

  [[nodiscard]] bool idle() const { return live_.empty(); }
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }
  [[nodiscard]] const std::vector<std::string>& finished() const { return finished_; }
  /// Of out-of-memory errors that were only counted; empty if all were told of.
  [[nodiscard]] std::string untold() const;
  [[nodiscard]] std::string status_line() const;

 private:
  void find_new();
  void open(const std::string& path, const spool::ProcessFacts& facts);
  void finish_earlier_image(std::uint32_t pid);
  std::string trace_name(const spool::ProcessFacts& facts);
  [[nodiscard]] std::vector<std::string> command_of(std::uint32_t pid) const;
  void finish(const std::string& spool_path, ProcessRecorder& process, const JobState& job);
  void tell_out_of_memory(ProcessRecorder& process);
  void give_up(const std::string& spool_path, const ProcessRecorder& process, const Error& error);

  std::string folder_;
  std::string spool_folder_;
  RetentionOptions retention_;
  const std::string origins_;
  RunState& run_;
  bool shows_status_;
  std::map<std::string, std::unique_ptr<ProcessRecorder>> live_;
  std::chrono::steady_clock::time_point last_look_{};
  bool saw_job_end_ = false;
  std::set<std::string> seen_;
  std::set<std::string> names_;
  std::vector<std::string> finished_;
  std::vector<std::string> notes_;
  bool unfinished_ = false;
  std::int64_t told_ = 0;           ///< out-of-memory errors
  std::int64_t out_of_memory_ = 0;  ///< of processes that are over
};

/// Starts a line anew on a terminal.
inline constexpr char kClearLine[] = "\r\033[K";

}  // namespace dcmt::recorder
