// Samples the memory of the whole job: often enough to have its peak, seldom enough to cost little.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/job_memory.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Decides when to sample. Times are seconds since the first question. Thread-safety: none.
class JobSchedule {
 public:
  /// True if it is worth asking what the job has, by a figure that costs little.
  [[nodiscard]] bool figure_is_due(double now) const { return now >= next_figure_; }
  /// @param took  seconds
  void figure_read(double now, double took);
  /// @param figure  bytes that the job has
  [[nodiscard]] bool is_due(double now, std::int64_t figure) const;
  void begins(double now, std::int64_t figure);
  /// @param took  processor time of the sample that began last
  void ended(double took);

 private:
  double next_figure_ = 0, latest_ = -1;
  std::int64_t highest_ = 0;  ///< figure at a sample
  double spent_ = 0, took_ = 0;
};

/// A recorded process, as far as it matters here.
struct JobMember {
  pid_t pid = 0;  ///< 0: not known
  ProcessRecorder* recorder = nullptr;
};

/// The samples are written to the trace of one process, the first that has made a tensor. If it ends, another one gets
/// the following samples, and the highest one before. Thread-safety: none.
class JobSamples {
 public:
  /// The process that was started as the job. It need not be recorded: a shell.
  void begin_with(pid_t first) { question_.first = first; }

  /// Writes what was read, and begins a reading if it is time. @param live  the processes that are recorded
  Status poll(const std::vector<JobMember>& live);
  /// Before the trace of a process is finished.
  Status process_ends(const JobMember& process);

 private:
  double seconds();
  [[nodiscard]] std::int64_t figure() const;
  Status keep(JobMemory memory);
  Status write_kept();
  Status write(ProcessRecorder& recorder, const std::pair<RowId, JobMemory>& sample);

  JobQuestion question_;
  JobSchedule schedule_;
  std::optional<std::int64_t> began_ns_;
  std::future<JobMemory> reading_;
  ProcessRecorder* home_ = nullptr;  ///< whose trace has the samples; nullptr: none yet
  RowId latest_id_ = 0;
  /// The sample with most, and the latest; with their ids.
  std::optional<std::pair<RowId, JobMemory>> highest_, latest_;
};

}  // namespace dcmt::recorder
