// Converts the times of records, by the readings of the clock among them, and reports jumps and changes of rate.
#pragma once

#include <cstdint>
#include <optional>

#include "collector/recorder/decode/clock_fit.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Start values of the clocks from the spool header, for the time before the first ClockRecords. 0: unknown.
struct ClockOrigin {
  std::uint64_t tsc_hz = 0;
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
};

/// The clocks at one time.
struct ClockTriple {
  std::uint64_t tsc = 0;
  std::uint64_t monotonic_ns = 0;
  std::uint64_t real_ns = 0;
};

/// Thread-safety: none.
class ClockBook {
 public:
  ClockBook(Journal& journal, const ClockOrigin& origin)
      : journal_(journal), fit_(origin.tsc_hz, {origin.tsc, origin.monotonic_ns}) {}

  Status read(const wire::ClockRecord& record);
  /// Uses a reading of the recorder's while the job runs on this machine, because a quiet job rarely reads the clock.
  /// No effect if the first reading does not agree with the job's clock.
  Status read_own(const ClockTriple& own);
  /// Monotonic time of a cycle counter's value.
  [[nodiscard]] std::int64_t ns(std::uint64_t tsc) const { return fit_.ns(tsc); }
  /// Writes what the trace says of its times.
  Status commit();

  template <class Visit>
  void visit(Visit&& visit) {
    fit_.visit(visit);
    visit("clock.real_offset_ns", real_offset_ns_);
    visit("clock.changes", changes_);
  }

 private:
  Status add(const ClockTriple& reading);
  Status note_change(ClockFit::Outcome outcome);

  Journal& journal_;
  ClockFit fit_;
  std::int64_t real_offset_ns_ = 0;  ///< wall clock less monotonic clock, of the latest reading
  std::int64_t changes_ = 0;
  std::optional<bool> own_agrees_;
};

}  // namespace dcmt::recorder
