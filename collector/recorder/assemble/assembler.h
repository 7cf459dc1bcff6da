// Converts wire records, in the order of their sequence, to the rows of a trace.
//
// Rows are written when a lifetime ends. commit() makes everything up to the last applied record consistent on disk, so
// resume() can continue the trace of a killed recorder from its last commit. No record is trusted: an invalid one is
// skipped with a diagnostic row.
//
// Thread-safety: none. One Assembler per trace, on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/assemble/clock_book.h"
#include "collector/recorder/assemble/cpu_bytes.h"
#include "collector/recorder/assemble/gpu_book.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/past.h"
#include "collector/recorder/assemble/small_growth.h"
#include "collector/recorder/console/alive_group.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/recorder/target/resident_memory.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Running figures, for a status line.
struct Totals {
  std::int64_t records = 0;              ///< applied records
  std::int64_t lost = 0;                 ///< records that the agent or the caller declared lost
  std::int64_t steps = 0;                ///< finished steps
  std::int64_t allocated_bytes = 0;      ///< bytes of live blocks
  std::int64_t peak_bytes = 0;           ///< peak of the device with the highest peak
  std::int64_t reserved_peak_bytes = 0;  ///< the same for reserved bytes; 0: no allocator reported any
  std::int64_t censuses = 0;
  std::int64_t out_of_memory = 0;  ///< requests that an allocator could not satisfy
};

class Assembler {
 public:
  /// For a new trace from create_trace(). `writer` must outlive the Assembler, and only the Assembler may use it.
  static Expected<std::unique_ptr<Assembler>> start(TraceWriter& writer, const ClockOrigin& origin,
                                                    RetentionOptions retention = {});

  /// For an unfinished trace from reopen_trace(): continues after its last commit, and keeps all later rows. Records up
  /// to last_seq() may be applied again; they are ignored.
  static Expected<std::unique_ptr<Assembler>> resume(TraceWriter& writer, const ClockOrigin& origin);

  ~Assembler();

  /// Applies one record. `record` is the begin of `record.words` * 8 readable bytes, 8-byte aligned; `thread` is the
  /// agent's number of the thread that wrote it. Sequences must increase; other records are ignored. Fails only if the
  /// trace cannot be written.
  Status apply(const wire::RecordHeader& record, std::uint32_t thread);

  /// Adds what an attached process had before the first record, which must not have been applied yet. Sequences below
  /// the first one are reserved for that. What exceeds them is omitted, with a diagnostic.
  /// @param smallest  bytes of the smallest storage that gets a row; smaller blocks get rows nevertheless
  /// @param ns  when the recording began  @param room  number of sequences before the first record
  Status begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                    std::int64_t smallest, std::int64_t ns, std::int64_t room);

  /// The same if what the process had could not be found.
  Status past_is_unknown(std::string_view why, std::int64_t ns);

  /// Adds one line about the recording itself.
  Status note(std::string_view text);

  /// Uses a clock reading of the caller while the job runs on this machine, because a quiet job rarely reads the clock.
  /// No effect if the first reading does not agree with the job's clock.
  Status add_own_clock(const ClockTriple& own);

  /// Records that the records with sequences `from` to `to` will never arrive: their threads were killed, or they may
  /// have been in a damaged part of the spool.
  Status note_gap(std::uint64_t from, std::uint64_t to, bool damaged = false);

  /// Records how many of a spool's chunks could not be read completely.
  Status note_damaged_chunks(std::uint64_t damaged, std::uint64_t all);

  /// Records what the agent has counted as lost but has never reported: `counted` is its total. Call it last.
  Status note_lost(std::uint64_t counted);

  /// Records how many forked children allocated memory and are not in the trace.
  Status note_forked_children(std::uint32_t count);

  /// Bytes of storages from places that keep more and more; if there are any, reading the process's memory is worth its
  /// cost.
  [[nodiscard]] GrowingBytes growing() const;
  /// Bytes in small blocks that are not tracked, at the end of the latest step.
  [[nodiscard]] SmallBlocksThen small_blocks() const;
  /// The process was asked to track this class of sizes, too.
  void size_is_followed(std::size_t size_class);
  /// Bytes of the smallest storage that is tracked by its size.
  [[nodiscard]] std::int64_t smallest_followed() const;
  /// True if something is alive that was made after the first step and before the latest one.
  [[nodiscard]] bool keeps_anything() const;
  /// The storages of which no reading has a holder, and how many bytes of them are worth a search of C++ memory.
  /// @param has_ended  the program has ended; otherwise those that its latest step may still use are left out
  [[nodiscard]] scan::InQuestion without_holder(bool has_ended) const;
  /// True if so many bytes of them have outlived their step that the ended program is worth a reading.
  [[nodiscard]] bool lacks_holders() const;
  /// True if something outlived its step and no reading has found it, or one found it without a holder.
  [[nodiscard]] bool wants_reading() const;
  /// The addresses of the modules whose names a reading should find.
  [[nodiscard]] std::vector<std::uint64_t> modules() const;
  /// Of the functions of a program without Python.
  [[nodiscard]] std::vector<scan::StackVariable> cpp_variables();
  /// A reading of the process's memory begins.
  void reading_begins(scan::Scope scope);
  /// The reading is over, and the records up to its end are applied.
  Status reading_ended(const MemoryReading& reading);
  /// The reading failed, and there will be no other one. The trace gets `why`.
  Status reading_failed(std::string_view why);

  /// Makes everything applied so far durable against a kill of this process. After a resume, drained() returns
  /// `drained`.
  Status commit(std::string_view drained);

  /// Ends the recording: settles what waited for more records, drops the private tables and commits. The caller writes
  /// the remaining meta values and calls finish_trace(). No other function may be called afterwards.
  Status finish();

  [[nodiscard]] std::uint64_t last_seq() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] CpuBytes cpu_bytes() const;
  /// The GPUs that the process has used.
  [[nodiscard]] const Gpus& gpus() const;
  /// The live blocks of the CPU allocator that have rows, sorted by address.
  [[nodiscard]] std::vector<BlockPlace> cpu_blocks() const;
  /// Restarts `highest` of the CPU bytes.
  void begin_cpu_peak();
  /// The live memory at the out-of-memory errors since the last call. Only the first few errors of a process are
  /// analysed.
  std::vector<OomFacts> drain_out_of_memory();
  /// What occupies most memory now.
  [[nodiscard]] Expected<std::vector<AliveGroup>> alive_now(std::size_t most);
  /// The highest allocated bytes since the last call, of the device with the highest peak.
  std::int64_t take_highest();
  /// The argument of the last commit(), by this or an earlier recorder.
  [[nodiscard]] const std::string& drained() const;

 private:
  class Impl;
  explicit Assembler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dcmt::recorder
