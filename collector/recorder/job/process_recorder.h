// Records one traced process: reads its spool and writes its trace.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/assembler.h"
#include "collector/recorder/assemble/past.h"
#include "collector/recorder/assemble/small_growth.h"
#include "collector/recorder/job/gpu_samples.h"
#include "collector/recorder/job/memory_reader.h"
#include "collector/recorder/job/memory_samples.h"
#include "collector/recorder/job/scan_schedule.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// Facts of the run for the trace.
struct RunFacts {
  std::vector<std::string> command;
  std::string origins;  ///< OperatorTables::origins
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
};

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
    variables_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kVariables);
    memory_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kAll);
  }

  /// From now on poll() also samples the kernel's figures of the process's memory.
  void sample_memory_of(pid_t pid) {
    samples_ = std::make_unique<MemorySamples>(writer_, pid);
    gpu_samples_ = std::make_unique<GpuSamples>(writer_, pid);
  }

  /// For an attached process, before the first poll(): reads first what it had before; records wait for that. Needs
  /// read_memory_of().
  void begin_with_past() { past_ = std::make_unique<Past>(); }
  /// False while the recorder still reads what the process had before.
  [[nodiscard]] bool past_is_known() const { return past_ == nullptr; }

  /// No further reading begins: the recorder will end soon, and would have to wait for it.
  void begin_no_reading() { begins_readings_ = false; }

  /// Reads everything as soon as possible, regardless of the schedule.
  void read_once_more() { extra_reading_ = ExtraReading::kWanted; }
  /// True if that reading is over, or is impossible.
  [[nodiscard]] bool has_read_once_more() const {
    return extra_reading_ == ExtraReading::kOver || memory_ == nullptr || !memory_->fits();
  }

  /// Adds a line to the trace.
  Status note(const std::string& text) {
    uncommitted_ = true;
    return assembler_->note(text);
  }

  /// Drains the published records; commits at least every half second, and when the spool fills up. Returns the number
  /// of records.
  Expected<std::size_t> poll();

  /// The process is gone, or is left: drains what it has published by now, records gaps, writes meta and finishes the
  /// trace. `exit` as in meta::kExit, `state` as in meta::kState.
  Status finish(const std::string& exit, const std::string& state);

  /// Finishes a trace that a recorder left unfinished and whose spool is gone, as of its last commit. Does nothing to a
  /// finished trace.
  static Status finish_without_spool(const std::string& trace_path, const std::string& state);

  [[nodiscard]] const spool::SpoolReader& spool() const { return reader_; }
  [[nodiscard]] Totals totals() const { return assembler_->totals(); }
  std::vector<OomFacts> drain_out_of_memory() { return assembler_->drain_out_of_memory(); }
  [[nodiscard]] const std::string& trace_path() const { return trace_path_; }
  /// A value for meta::kExit if only the agent has seen the process's end: whether it exited normally.
  [[nodiscard]] std::string unseen_exit() const;
  /// True if the process of a spool is alive. A later process with the same pid does not count; a zombie counts as
  /// gone.
  static bool is_alive(const spool::ProcessFacts& facts);

 private:
  ProcessRecorder(spool::SpoolReader reader, TraceWriter writer, std::string trace_path);
  static Expected<std::unique_ptr<ProcessRecorder>> open(spool::SpoolReader spool, const std::string& trace_path,
                                                         const RunFacts& run, const RetentionOptions& retention,
                                                         spool::Purpose purpose);
  /// Records that arrive while the recorder reads what was there before.
  struct Past {
    PastBook book;
    std::vector<std::uint64_t> words;
    std::vector<std::pair<std::size_t, std::uint32_t>> records;  ///< begin of each record, and its thread
    bool reads = false;
  };
  /// Continues the reading, and applies the waiting records when it is over.
  Status read_past();
  /// The reading failed.
  Status give_up_past(const std::string& why);
  void hold_sequenced();
  Status apply_held();
  Status apply_sequenced();
  Status skip_gap();
  Status note_damage();
  Status wait_or_skip_gap();
  Status commit();
  Status write_start_meta(const RunFacts& run);
  /// Once the process has made a step: a worker of Ray Train gives itself its rank after its start.
  Status find_rank();
  Status read_memory();
  /// Asks the process to track sizes of small blocks of which it keeps more and more.
  void follow_small_growth();
  /// The process waits for an answer: its program has ended, or requests a reading.
  Status serve_asked_reading();
  /// Reads the memory of an ended program if another reading would add information, then lets it exit.
  void serve_end();
  /// Reads the memory of a program that requests it, after the running reading.
  void serve_request();
  /// Reads the variables of a program that waits at a point of its work.
  void serve_hold();
  /// Processes a reading that is over, and begins one that is due.
  Status read(MemoryReader& reader, scan::Scope scope);
  /// The process's allocated bytes, as a share of their highest value so far.
  Progress progress();
  void begin_reading(MemoryReader& reader, scan::Scope scope);
  Status end_reading(MemoryReader& reader, bool wait);
  [[nodiscard]] double since_first_record() const;  ///< seconds
  [[nodiscard]] TorchThen torch_then() const;
  Status sample_memory();
  Status sample_last();
  /// Publishes the bytes of the CPU allocator for the process, and answers its request if there is one.
  void publish_cpu_memory();

  spool::SpoolReader reader_;
  TraceWriter writer_;
  std::unique_ptr<Assembler> assembler_;
  std::unique_ptr<MemoryReader> variables_, memory_;  ///< nullptr: owners were not requested, or cannot be read
  pid_t pid_ = 0;                                     ///< as in read_memory_of()
  std::unique_ptr<MemorySamples> samples_;            ///< nullptr: the process cannot be found
  std::unique_ptr<GpuSamples> gpu_samples_;           ///< likewise
  SmallGrowth small_growth_;
  bool lacks_rank_ = false;  ///< and it was not searched for after a step
  bool reading_failed_ = false;
  bool begins_readings_ = true;
  std::int64_t highest_ = 0;          ///< highest allocated bytes at a poll
  bool program_ended_ = false;        ///< its memory is being destroyed, or waits for the last readings
  int last_readings_ = 0;             ///< readings of everything that began because the program had ended
  bool read_variables_last_ = false;  ///< a reading of variables began for that reason
  bool counts_all_ = true;            ///< memory from before the recording is counted, too
  std::uint64_t new_peaks_ = 0;       ///< restarts of the peak that the process has requested so far
  bool requested_ = false;            ///< the program has requested the running reading
  bool held_ = false;                 ///< the program waits for the running reading of variables
  enum class ExtraReading : std::uint8_t { kNone, kWanted, kUnderWay, kOver };
  ExtraReading extra_reading_ = ExtraReading::kNone;
  ScanSchedule schedule_;
  std::unique_ptr<Past> past_;  ///< nullptr: it is over, or there is none
  std::optional<std::chrono::steady_clock::time_point> first_record_;
  struct Began {
    double at = 0;     ///< begin, in seconds since the first record
    Progress program;  ///< at the begin: the reading may miss later events
    bool waits = false;  ///< the process waits for it
  };
  std::array<Began, 2> reading_began_{};  ///< by scope
  std::string trace_path_;
  std::chrono::steady_clock::time_point last_commit_;
  bool uncommitted_ = false;
  std::uint64_t stuck_sequence_ = 0;  ///< the missing sequence that was last waited for under pressure
  std::chrono::steady_clock::time_point stuck_since_;
};

}  // namespace dcmt::recorder
