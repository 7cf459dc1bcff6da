#include "collector/recorder/assemble/clock_book.h"

#include <string>

#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// Limit of rows: damaged clock readings must not fill the disk.
constexpr std::int64_t kMostClockChanges = 100;

}  // namespace

Status ClockBook::read(const wire::ClockRecord& record) {
  return add({record.header.tsc, record.monotonic_ns, record.real_ns});
}

Status ClockBook::read_own(const ClockTriple& own) {
  // In another time namespace, the recorder's monotonic clock differs from the job's.
  if (!own_agrees_) own_agrees_ = fit_.agrees({own.tsc, own.monotonic_ns});
  return *own_agrees_ ? add(own) : Status{};
}

Status ClockBook::add(const ClockTriple& reading) {
  if (reading.real_ns > static_cast<std::uint64_t>(kLargest)) return journal_.bad_record("a clock reading");
  const ClockFit::Outcome outcome = fit_.add({reading.tsc, reading.monotonic_ns});
  if (outcome == ClockFit::Outcome::kNonsense) return journal_.bad_record("a clock reading that runs backwards");
  real_offset_ns_ = static_cast<std::int64_t>(reading.real_ns - reading.monotonic_ns);
  return note_change(outcome);
}

Status ClockBook::note_change(ClockFit::Outcome outcome) {
  const bool jumped = outcome == ClockFit::Outcome::kJumped;
  if ((!jumped && outcome != ClockFit::Outcome::kNewRate) || ++changes_ > kMostClockChanges) return {};
  if (changes_ == kMostClockChanges) return journal_.diagnose("clock", "more changes of the clock; not listed");
  return journal_.diagnose("clock", jumped ? "the cycle counter jumped by " + std::to_string(fit_.jump_ns()) +
                                                 " ns against the clock: times just before this are less sure"
                                           : "the cycle counter's rate changed by " +
                                                 std::to_string(fit_.rate_change_ppm()) + " millionths");
}

Status ClockBook::commit() {
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kClockErrorNs, fit_.error_ns()));
  DCMT_RETURN_IF_ERROR(journal_.writer.set_meta(meta::kClockReadings, fit_.readings()));
  return journal_.writer.set_meta(meta::kRealOffsetNs, real_offset_ns_);
}

}  // namespace dcmt::recorder
