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
#include <utility>
#include <vector>

#include "collector/recorder/assemble/alive_now.h"
#include "collector/recorder/assemble/books.h"
#include "collector/recorder/assemble/cpu_bytes.h"
#include "collector/recorder/assemble/past.h"
#include "collector/recorder/assemble/reading_needs.h"
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
  bool went_on = false;            ///< memory was allocated on the thread of the latest of them since
};

class Assembler {
 public:
  /// For a new trace from create_trace(). `writer` must outlive the Assembler, and only the Assembler may use it.
  static Expected<std::unique_ptr<Assembler>> start(TraceWriter& writer, const ClockOrigin& origin,
                                                    RetentionOptions retention = {});

  /// For an unfinished trace from reopen_trace(): continues after its last commit, and keeps all later rows. Records up
  /// to last_seq() may be applied again; they are ignored.
  static Expected<std::unique_ptr<Assembler>> resume(TraceWriter& writer, const ClockOrigin& origin);

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

  /// For the caller's own readings of the clock, for what it knows of lost records and of the process's end, and for
  /// readings of its memory.
  [[nodiscard]] ClockBook& clock() { return books_.clock; }
  [[nodiscard]] LossBook& losses() { return books_.losses; }
  [[nodiscard]] OutOfMemory& out_of_memory() { return books_.out_of_memory; }
  [[nodiscard]] ReadingNeeds& readings() { return books_.readings; }
  [[nodiscard]] const ReadingNeeds& readings() const { return books_.readings; }

  /// Makes everything applied so far durable against a kill of this process. After a resume, drained() returns
  /// `drained`.
  Status commit(std::string_view drained);

  /// Ends the recording: settles what waited for more records, drops the private tables and commits. The caller writes
  /// the remaining meta values and calls finish_trace(). No other function may be called afterwards.
  Status finish();

  [[nodiscard]] std::uint64_t last_seq() const { return static_cast<std::uint64_t>(books_.journal.now.seq); }
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] CpuBytes cpu_bytes() const { return books_.lifetimes.cpu_bytes(); }
  /// The GPUs that the process has used.
  [[nodiscard]] const Gpus& gpus() const { return books_.gpus.gpus(); }
  /// The live blocks of the CPU allocator that have rows, sorted by address.
  [[nodiscard]] std::vector<BlockPlace> cpu_blocks() const;
  /// Restarts `highest` of the CPU bytes.
  void begin_cpu_peak() { books_.lifetimes.begin_cpu_peak(); }
  /// What occupies most memory now.
  [[nodiscard]] Expected<std::vector<AliveGroup>> alive_now(std::size_t most) {
    return recorder::alive_now(books_.lifetimes, books_.owners, books_.places, most);
  }
  /// The highest allocated bytes since the last call, of the device with the highest peak.
  std::int64_t take_highest() { return books_.lifetimes.take_highest(); }
  /// The argument of the last commit(), by this or an earlier recorder.
  [[nodiscard]] const std::string& drained() const { return books_.drained; }

 private:
  Assembler(TraceWriter& writer, PrivateState state, const ClockOrigin& origin, RetentionOptions retention)
      : books_(writer, std::move(state), origin, std::move(retention)) {}
  Status apply_block_in_node(std::string_view bytes, std::uint32_t thread);

  Books books_;
};

}  // namespace dcmt::recorder
