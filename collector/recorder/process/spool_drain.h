// From the spool of one process to its trace: applies the published records in sequence, and commits the trace.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collector/recorder/assemble/assembler.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// The value of meta::kState; empty if the trace has none, because its recorder was killed as it began.
Expected<std::string> trace_state(const std::string& trace_path);

/// Thread-safety: none.
class SpoolDrain {
 public:
  /// Creates the trace. If the spool stays unchanged (kInspect), continues an unfinished trace after its last commit.
  static Expected<std::unique_ptr<SpoolDrain>> open(spool::SpoolReader spool, const std::string& trace_path,
                                                    const RetentionOptions& retention, spool::Purpose purpose);
  /// The trace was begun by an earlier recorder.
  [[nodiscard]] bool continues() const { return continues_; }

  /// Copies what has been published, and applies it up to the first record that is missing. Returns the number of
  /// copied records.
  Expected<std::size_t> drain();
  /// If most of the spool is in use, gives up a record that has been missing for too long. Commits, at least every half
  /// second while there is something to commit.
  Status settle();
  Status commit();
  /// There is something to commit that is no record.
  void changed() { uncommitted_ = true; }
  /// Drains what has been published by now. Records that are still missing become gaps.
  Status drain_rest();
  /// Adds what is known of lost records and damaged chunks. Nothing is drained afterwards.
  Status note_losses();

  /// The process publishes nothing but blocks.
  [[nodiscard]] bool only_blocks() const { return spool_.facts().detail == Detail::kOutOfMemory; }
  /// Seconds since it first had memory of torch; nothing before that.
  [[nodiscard]] std::optional<double> seconds() const;
  [[nodiscard]] spool::SpoolReader& spool() { return spool_; }
  [[nodiscard]] const spool::SpoolReader& spool() const { return spool_; }
  [[nodiscard]] TraceWriter& writer() { return writer_; }
  [[nodiscard]] Assembler& assembler() { return *assembler_; }
  [[nodiscard]] const Assembler& assembler() const { return *assembler_; }

 private:
  using Clock = std::chrono::steady_clock;

  SpoolDrain(spool::SpoolReader spool, TraceWriter writer);
  Status apply_sequenced();
  Status skip_gap();
  Status wait_or_skip_gap();

  spool::SpoolReader spool_;
  TraceWriter writer_;
  std::unique_ptr<Assembler> assembler_;
  bool continues_ = false;
  std::optional<Clock::time_point> first_bytes_;
  Clock::time_point last_commit_ = Clock::now();
  bool uncommitted_ = false;
  std::uint64_t stuck_sequence_ = 0;  ///< the missing sequence that was last waited for under pressure
  Clock::time_point stuck_since_;
};

}  // namespace dcmt::recorder
