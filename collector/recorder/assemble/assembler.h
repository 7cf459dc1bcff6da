// From wire records in the order of their sequence to the rows of a trace.
//
// Rows are written when a lifetime ends. commit() makes everything up to the last applied record one consistent
// picture on disk, so a recorder that is killed is continued from its last commit with resume(). Nothing in a record is
// trusted: what does not make sense is skipped with a diagnostic row.
//
// Thread-safety: none. One Assembler per trace, on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "collector/recorder/assemble/cpu_bytes.h"
#include "collector/recorder/assemble/growth_watch.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/past.h"
#include "collector/recorder/assemble/small_growth.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/recorder/target/resident_memory.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// What is known of the cycle counter before the first ClockRecords: the spool header's start values. 0: unknown.
struct ClockOrigin {
  std::uint64_t tsc_hz = 0;
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
};

/// The clocks at one moment.
struct ClockTriple {
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t real_ns = 0;
};

/// Running figures, for a status line.
struct Totals {
  std::int64_t records = 0;              ///< applied
  std::int64_t lost = 0;                 ///< records that the agent or the caller declared lost
  std::int64_t steps = 0;                ///< finished steps
  std::int64_t allocated_bytes = 0;      ///< of live blocks
  std::int64_t peak_bytes = 0;           ///< of the device that had most at once
  std::int64_t reserved_peak_bytes = 0;  ///< the same of what its allocator reserved; 0: none says it
  std::int64_t censuses = 0;
  std::int64_t out_of_memory = 0;  ///< requests that an allocator gave up
};

class Assembler {
 public:
  /// For a trace fresh from create_trace(). `writer` must outlive the Assembler and belongs to it meanwhile.
  static Expected<std::unique_ptr<Assembler>> start(TraceWriter& writer, const ClockOrigin& origin,
                                                    RetentionOptions retention = {});

  /// For an unfinished trace from reopen_trace(): continues after its last commit, and keeps all that is to come.
  /// Records up to last_seq() may be applied again; they are ignored.
  static Expected<std::unique_ptr<Assembler>> resume(TraceWriter& writer, const ClockOrigin& origin);

  ~Assembler();

  /// Applies one record. `record` is the begin of `record.words` * 8 readable bytes, 8-byte aligned; `thread` is the
  /// agent's number of the thread that wrote it. Sequences must increase; one that does not is ignored. Fails only
  /// when the trace cannot be written.
  Status apply(const wire::RecordHeader& record, std::uint32_t thread);

  /// What the process had before the first record, which has not come yet: of a process that was attached to, whose
  /// sequences leave room for it. What finds none is left out, and said to be.
  /// @param smallest  bytes of the smallest storage that has a row; blocks have one all the same
  /// @param ns  when the recording began  @param room  sequences before the first record
  Status begin_past(const std::vector<PastStorage>& past, const std::vector<PastGpuBlock>& gpu_blocks,
                    std::int64_t smallest, std::int64_t ns, std::int64_t room);

  /// The same where it could not be found out.
  Status past_is_unknown(std::string_view why, std::int64_t ns);

  /// What the recorder has to say of the recording itself, in one line.
  Status note(std::string_view text);

  /// Takes a reading of the caller's own, while the job runs on this machine: a quiet job reads the clock rarely.
  /// Without effect if the first one does not agree with the job's clock.
  Status take_own_clock(const ClockTriple& own);

  /// Notes that the records with sequences `from` to `to` will never come: their threads were killed meanwhile, or they
  /// may have been in a part of the spool that is damaged.
  Status note_gap(std::uint64_t from, std::uint64_t to, bool damaged = false);

  /// Notes how many of a spool's chunks could not be read, or not to their end.
  Status note_damaged_chunks(std::uint64_t damaged, std::uint64_t all);

  /// Notes what the agent counted as lost and never declared: `counted` is all it counted. Call it last.
  Status note_lost(std::uint64_t counted);

  /// Notes forked children that computed and are not in the trace.
  Status note_forked_children(std::uint32_t count);

  /// Bytes of storages that were made at places that keep more and more: reading the process's memory is worth it.
  [[nodiscard]] GrowingBytes growing() const;
  /// What is in blocks that are not followed, at the end of the latest step.
  [[nodiscard]] SmallBlocksThen small_blocks() const;
  /// The process was asked to follow this class of sizes, too.
  void size_is_followed(std::size_t size_class);
  /// Bytes of the smallest storage that is followed for its size.
  [[nodiscard]] std::int64_t smallest_followed() const;
  /// Something is alive that was made after the first step: not just by the latest one.
  [[nodiscard]] bool keeps_anything() const;
  /// What no reading has found is so much that memory is worth searching for its holders in C++, which takes a second.
  /// @param has_ended  the program stands still: else a reading of everything has to have missed it
  [[nodiscard]] bool wants_cpp_holders(bool has_ended) const;
  /// Something outlived its step that no reading has found, or of which one found nobody who holds it.
  [[nodiscard]] bool wants_reading() const;
  /// A reading of the process's memory begins now.
  void reading_begins(scan::Scope scope);
  /// It is over, and the records up to its end are applied.
  Status reading_ended(const MemoryReading& reading);
  /// It came to nothing, and there will be no other one. `why` ends up in the trace.
  Status reading_failed(std::string_view why);

  /// Makes everything applied so far durable against a kill of this process. `drained` comes back from drained()
  /// after a resume.
  Status commit(std::string_view drained);

  /// Ends the recording: settles what waited for more records, drops the private tables and commits. The caller writes
  /// the remaining meta values and calls finish_trace(). Nothing else may be called afterwards.
  Status finish();

  [[nodiscard]] std::uint64_t last_seq() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] CpuBytes cpu_bytes() const;
  /// The blocks of the CPU's allocator that are alive and have rows, in the order of their addresses.
  [[nodiscard]] std::vector<BlockPlace> cpu_blocks() const;
  /// Its `highest` counts from here on.
  void begin_cpu_peak();
  /// What was alive at the out-of-memory errors that were applied since the last call. Only the first few of a process
  /// are looked at.
  std::vector<OomFacts> take_out_of_memory();
  /// What the last commit() was given, of this or of an earlier recorder.
  [[nodiscard]] const std::string& drained() const;

 private:
  class Impl;
  explicit Assembler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dcmt::recorder
