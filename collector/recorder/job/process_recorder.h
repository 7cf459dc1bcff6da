// Records one traced process: its spool in, its trace out.
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
#include "collector/recorder/job/memory_reader.h"
#include "collector/recorder/job/memory_samples.h"
#include "collector/recorder/job/scan_schedule.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// What a trace is told of the run.
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
  /// The same of a spool that is open already.
  static Expected<std::unique_ptr<ProcessRecorder>> start(spool::SpoolReader spool, const std::string& trace_path,
                                                          const RunFacts& run, const RetentionOptions& retention);
  /// Opens `spool_path`, which stays as it is, and continues the unfinished trace at `trace_path` after its last
  /// commit; creates it if the earlier recorder did not get to it.
  static Expected<std::unique_ptr<ProcessRecorder>> resume(const std::string& spool_path, const std::string& trace_path,
                                                           const RunFacts& run);

  /// From now on poll() also finds out who owns storages, by reading the memory of the process.
  /// @param pid  in the recorder's namespace
  /// @param layouts  where the layouts of torch are
  void read_memory_of(pid_t pid, const scan::LayoutFolders& layouts) {
    pid_ = pid;
    variables_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kVariables);
    memory_ = std::make_unique<MemoryReader>(pid, layouts, scan::Scope::kAll);
  }

  /// From now on poll() also samples what the kernel counts of the process's memory.
  void sample_memory_of(pid_t pid) { samples_ = std::make_unique<MemorySamples>(writer_, pid); }

  /// Of a process that was attached to, before the first poll(): what it had before is read first, and records wait for
  /// it. Needs read_memory_of().
  void begin_with_past() { past_ = std::make_unique<Past>(); }
  /// False while what the process had before is being read.
  [[nodiscard]] bool past_is_known() const { return past_ == nullptr; }

  /// No reading begins any more: the recorder is to end soon, and would wait for it.
  void begin_no_reading() { begins_readings_ = false; }

  /// Everything is read as soon as possible, whatever the schedule says.
  void read_once_more() { extra_reading_ = ExtraReading::kWanted; }
  /// Whether that is over, or cannot be.
  [[nodiscard]] bool has_read_once_more() const {
    return extra_reading_ == ExtraReading::kOver || memory_ == nullptr || !memory_->fits();
  }

  /// A line in the trace.
  Status note(const std::string& text) {
    uncommitted_ = true;
    return assembler_->note(text);
  }

  /// Drains what has been published; commits at least every half second and when the spool fills up. Returns how many
  /// records there were.
  Expected<std::size_t> poll();

  /// The process is gone, or is left: drains what it has published by now, declares gaps, writes meta and finishes the
  /// trace. `exit` as in meta::kExit, `state` as in meta::kState.
  Status finish(const std::string& exit, const std::string& state);

  /// Finishes a trace that a recorder left unfinished and whose spool is gone, as of its last commit. Does nothing to
  /// one that is finished.
  static Status finish_without_spool(const std::string& trace_path, const std::string& state);

  [[nodiscard]] const spool::SpoolReader& spool() const { return reader_; }
  [[nodiscard]] Totals totals() const { return assembler_->totals(); }
  std::vector<OomFacts> take_out_of_memory() { return assembler_->take_out_of_memory(); }
  [[nodiscard]] const std::string& trace_path() const { return trace_path_; }
  /// As in meta::kExit, of a process whose end only its agent has seen: whether it left in order.
  [[nodiscard]] std::string unseen_exit() const;
  /// True if the process of a spool is alive. A later process with its pid is another one; a zombie counts as gone.
  static bool is_alive(const spool::ProcessFacts& facts);

 private:
  ProcessRecorder(spool::SpoolReader reader, TraceWriter writer, std::string trace_path);
  static Expected<std::unique_ptr<ProcessRecorder>> open(spool::SpoolReader spool, const std::string& trace_path,
                                                         const RunFacts& run, const RetentionOptions& retention,
                                                         spool::Purpose purpose);
  /// While what was there before is read: records as they came.
  struct Past {
    PastBook book;
    std::vector<std::uint64_t> words;
    std::vector<std::pair<std::size_t, std::uint32_t>> records;  ///< where each begins, and its thread
    bool reads = false;
  };
  /// Reads on, and once that is over applies the records that waited.
  Status read_past();
  /// It came to nothing.
  Status give_up_past(const std::string& why);
  void hold_sequenced();
  Status apply_held();
  Status apply_sequenced();
  Status skip_gap();
  Status note_damage();
  Status wait_or_skip_gap();
  Status commit();
  Status write_start_meta(const RunFacts& run);
  Status read_memory();
  /// Has the sizes of small blocks followed of which the program keeps more and more.
  void follow_small_growth();
  /// The process waits for an answer: its program has ended, or wants a reading.
  Status serve_asked_reading();
  /// Reads the memory of a program that has ended if there is more to learn, then lets it go.
  void serve_end();
  /// Reads the memory of a program that wants it, after what is under way.
  void serve_request();
  /// Ends a reading that is over, and begins one that is due.
  Status read(MemoryReader& reader, scan::Scope scope);
  /// What the process has allocated, as a share of the most that it was seen to have.
  Progress progress();
  void begin_reading(MemoryReader& reader, scan::Scope scope);
  Status end_reading(MemoryReader& reader, bool wait);
  [[nodiscard]] double since_first_record() const;  ///< seconds
  [[nodiscard]] TorchThen torch_then() const;
  Status sample_memory();
  Status sample_last();
  /// Publishes for the process what its CPU's allocator has, and answers if it has asked.
  void publish_cpu_memory();

  spool::SpoolReader reader_;
  TraceWriter writer_;
  std::unique_ptr<Assembler> assembler_;
  std::unique_ptr<MemoryReader> variables_, memory_;  ///< none: owners are not asked for, or cannot be read
  pid_t pid_ = 0;                                     ///< as in read_memory_of()
  std::unique_ptr<MemorySamples> samples_;            ///< none: the process cannot be found
  SmallGrowth small_growth_;
  bool reading_failed_ = false;
  bool begins_readings_ = true;
  std::int64_t highest_ = 0;          ///< bytes allocated at a poll
  bool program_ended_ = false;        ///< its memory is being taken down, or waits for the last readings
  int last_readings_ = 0;             ///< of everything, begun because the program had ended
  bool read_variables_last_ = false;  ///< one of variables was begun for this
  bool counts_all_ = true;            ///< what was there before is counted, too
  std::uint64_t new_peaks_ = 0;       ///< that the process has wanted so far
  bool requested_ = false;            ///< the reading under way, by the program
  enum class ExtraReading : std::uint8_t { kNone, kWanted, kUnderWay, kOver };
  ExtraReading extra_reading_ = ExtraReading::kNone;
  ScanSchedule schedule_;
  std::unique_ptr<Past> past_;  ///< none: it is known, or there is none
  std::optional<std::chrono::steady_clock::time_point> first_record_;
  struct Began {
    double at = 0;     ///< seconds since then
    Progress program;  ///< then: the reading may not see what comes later
  };
  std::array<Began, 2> reading_began_{};  ///< by scope
  std::string trace_path_;
  std::chrono::steady_clock::time_point last_commit_;
  bool uncommitted_ = false;
  std::uint64_t stuck_sequence_ = 0;  ///< the missing one that was waited for under pressure last
  std::chrono::steady_clock::time_point stuck_since_;
};

}  // namespace dcmt::recorder
