// Records one traced process: reads its spool and writes its trace.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/assembler.h"
#include "collector/recorder/process/job_rows.h"
#include "collector/recorder/process/limit_alarm.h"
#include "collector/recorder/process/past_reading.h"
#include "collector/recorder/process/readings.h"
#include "collector/recorder/process/samplers.h"
#include "collector/recorder/process/spool_drain.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// Facts of the run for the trace.
struct RunFacts {
  std::vector<std::string> command;
  std::string origins;  ///< OperatorTables::origins
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
};

/// Thread-safety: none.
class ProcessRecorder {
 public:
  /// Opens `spool_path` and creates `trace_path` for it.
  static Expected<std::unique_ptr<ProcessRecorder>> start(const std::string& spool_path, const std::string& trace_path,
                                                          const RunFacts& run, const RetentionOptions& retention = {});
  /// The same for an open spool.
  static Expected<std::unique_ptr<ProcessRecorder>> start(spool::SpoolReader spool, const std::string& trace_path,
                                                          const RunFacts& run, const RetentionOptions& retention);
  /// Opens `spool_path`, which stays unchanged, and continues the unfinished trace at `trace_path` after its last
  /// commit; creates the trace if the earlier recorder had not.
  static Expected<std::unique_ptr<ProcessRecorder>> resume(const std::string& spool_path, const std::string& trace_path,
                                                           const RunFacts& run);

  /// From now on poll() also finds the owners of storages, by reading the memory of the process.
  /// @param pid  in the recorder's namespace
  /// @param layouts  folders of torch's layouts
  void read_memory_of(pid_t pid, const scan::LayoutFolders& layouts) {
    pid_ = pid;
    readings_.begin(pid, layouts);
    if (drain_->only_blocks()) limit_alarm_.emplace(pid);
    samplers_.read_children(layouts);
  }

  /// From now on poll() also samples the kernel's figures of the process's memory.
  void sample_memory_of(pid_t pid) { samplers_.begin(pid); }

  /// For an attached process, before the first poll(): reads first what it had before; records wait for that. Needs
  /// read_memory_of().
  void begin_with_past() { past_ = std::make_unique<PastReading>(*drain_, readings_); }
  /// False while the recorder still reads what the process had before.
  [[nodiscard]] bool past_is_known() const { return past_ == nullptr; }

  /// No further reading begins: the recorder will end soon, and would have to wait for it.
  void begin_no_reading() {
    readings_.begin_no_more();
    samplers_.end();
  }

  /// Memory has run out in another process of the job, and this one may be ended for that: its variables are read soon.
  void read_variables_soon() { readings_.read_variables_soon(); }
  /// Reads everything as soon as possible, regardless of the schedule.
  void request_full_scan() { readings_.request_full_scan(); }
  /// True if that reading is over, or is impossible.
  [[nodiscard]] bool has_read_once_more() const { return readings_.has_read_once_more(); }

  /// Adds a line to the trace.
  Status note(const std::string& text) {
    drain_->changed();
    return drain_->assembler().note(text);
  }

  /// Adds the job's memory at one time to the trace. @param id  of the reading, from 1 on
  Status add_job(RowId id, const JobMemory& memory, const JobQuestion& question) {
    drain_->changed();
    return write_job(drain_->writer(), id, memory, question);
  }
  /// -1: none, or not known yet.
  [[nodiscard]] std::int32_t rank() const { return rank_; }
  /// False of a launcher, which imports torch and never makes a tensor.
  [[nodiscard]] bool has_content() const { return totals().peak_bytes > 0 || totals().steps > 0; }

  /// Drains the published records; commits at least every half second, and when the spool fills up. Returns the number
  /// of records.
  Expected<std::size_t> poll();

  /// The process is gone, or is left: drains what it has published by now, records gaps, writes meta and finishes the
  /// trace. `exit` as in meta::kExit, `state` as in meta::kState.
  Status finish(const std::string& exit, const std::string& state);

  /// Finishes a trace that a recorder left unfinished and whose spool is gone, as of its last commit. Does nothing to a
  /// finished trace.
  static Status finish_without_spool(const std::string& trace_path, const std::string& state);

  [[nodiscard]] const spool::SpoolReader& spool() const { return drain_->spool(); }
  [[nodiscard]] Totals totals() const { return drain_->assembler().totals(); }
  std::vector<OomFacts> drain_out_of_memory() { return drain_->assembler().out_of_memory().drain(); }
  /// As in Assembler.
  [[nodiscard]] Expected<std::vector<AliveGroup>> alive_now(std::size_t most) {
    return drain_->assembler().alive_now(most);
  }
  std::int64_t take_highest() { return drain_->assembler().take_highest(); }
  [[nodiscard]] const std::string& trace_path() const { return trace_path_; }
  /// A value for meta::kExit if only the agent has seen the process's end: whether it exited normally.
  [[nodiscard]] std::string unseen_exit() const;
  /// True if the process of a spool is alive. A later process with the same pid does not count; a zombie counts as
  /// gone.
  static bool is_alive(const spool::ProcessFacts& facts);

 private:
  ProcessRecorder(std::unique_ptr<SpoolDrain> drain, std::string trace_path)
      : trace_path_(std::move(trace_path)), drain_(std::move(drain)) {}
  static Expected<std::unique_ptr<ProcessRecorder>> open(spool::SpoolReader spool, const std::string& trace_path,
                                                         const RunFacts& run, const RetentionOptions& retention,
                                                         spool::Purpose purpose);
  Status write_start_meta(const RunFacts& run);
  /// Once the process has made a step: a worker of Ray Train gives itself its rank after its start.
  Status find_rank();
  /// Once the process has used a GPU, and again once it has made a step.
  Status read_allocator_variables();
  /// Publishes the bytes of the CPU allocator for the process, and answers its request if there is one.
  void publish_cpu_memory();

  const std::string trace_path_;
  const std::unique_ptr<SpoolDrain> drain_;
  Samplers samplers_{*drain_};
  Readings readings_{*drain_, samplers_};
  std::optional<LimitAlarm> limit_alarm_;
  std::unique_ptr<PastReading> past_;  ///< nullptr: it is over, or there is none
  pid_t pid_ = 0;                      ///< as in read_memory_of()
  std::int32_t rank_ = -1;             ///< as in rank()
  bool lacks_rank_ = false;            ///< and it was not searched for after a step
  int variables_read_ = 0;             ///< how often those of the allocator were read
  bool counts_all_ = true;             ///< memory from before the recording is counted, too
  std::uint64_t new_peaks_ = 0;        ///< restarts of the peak that the process has requested so far
};

}  // namespace dcmt::recorder
