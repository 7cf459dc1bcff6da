#include "collector/recorder/decode/clock_fit.h"

#include <algorithm>
#include <cmath>

#include "trace/sql/limits.h"

namespace dcmt::recorder {
namespace {

// With a smaller distance between two readings, jitter dominates the rate.
constexpr std::uint64_t kMinimumSpanNs = 10'000'000;
/// The rate is computed over one to two windows of this length.
constexpr std::uint64_t kWindowNs = 10'000'000'000;
/// A larger distance is off the line. Clocks are slewed by at most half a thousandth, and a thread may be interrupted
/// between its readings of the two clocks.
constexpr double kJumpNs = 1e6;
constexpr double kJumpShare = 1e-3;
constexpr auto kLargestNs = static_cast<double>(kLargest);

double difference(std::uint64_t a, std::uint64_t b) {
  return a >= b ? static_cast<double>(a - b) : -static_cast<double>(b - a);
}

double slope(ClockReading from, ClockReading to) { return difference(to.ns, from.ns) / difference(to.tsc, from.tsc); }

}  // namespace

ClockFit::ClockFit(std::uint64_t hz, ClockReading origin) : hz_(hz), base_(origin) {
  base_.ns = std::min(base_.ns, static_cast<std::uint64_t>(kLargestNs));
  middle_ = latest_ = base_;
}

double ClockFit::rate() const {
  if (rate_ > 0) return rate_;
  const double span = difference(latest_.ns, base_.ns);
  if (latest_.tsc > base_.tsc && span > 0 && (span >= static_cast<double>(kMinimumSpanNs) || hz_ == 0)) {
    return slope(base_, latest_);
  }
  return 1e9 / static_cast<double>(hz_ != 0 ? hz_ : 1'000'000'000);
}

double ClockFit::off_line(ClockReading reading) const {
  return difference(latest_.ns, reading.ns) + difference(reading.tsc, latest_.tsc) * rate();
}

double ClockFit::tolerance(ClockReading reading) const {
  return kJumpNs + kJumpShare * std::abs(difference(reading.ns, latest_.ns));
}

bool ClockFit::agrees(ClockReading reading) const { return std::abs(off_line(reading)) <= tolerance(reading); }

/// True if the rate of the newer half of the window differs from that of the older half.
bool ClockFit::move_window() {
  if (difference(latest_.ns, middle_.ns) < static_cast<double>(kWindowNs) || latest_.tsc <= middle_.tsc) return false;
  bool changed = false;
  if (middle_.tsc > base_.tsc && middle_.ns > base_.ns) {
    const double change = slope(middle_, latest_) / slope(base_, middle_) - 1;
    changed = std::abs(change) > kJumpShare;
    if (changed) rate_change_ppm_ = std::lround(std::clamp(change, -1.0, 1e6) * 1e6);
  }
  base_ = middle_;
  middle_ = latest_;
  return changed;
}

ClockFit::Outcome ClockFit::add(ClockReading reading) {
  if (static_cast<double>(reading.ns) > kLargestNs) return Outcome::kNonsense;
  const double off = off_line(reading);
  // Until a rate was measured, a reading far from the line need not be a jump.
  const bool has_rate = difference(latest_.ns, base_.ns) >= static_cast<double>(kMinimumSpanNs);
  const bool on_line = std::abs(off) <= tolerance(reading);
  const bool forward = readings_ == 0 || (reading.tsc > latest_.tsc && reading.ns >= latest_.ns);
  if (!forward) {
    if (on_line) return Outcome::kEarlier;
    if (reading.ns < latest_.ns || !has_rate) return Outcome::kNonsense;
  }
  ++readings_;
  if (!forward || (has_rate && !on_line)) {
    hz_ = static_cast<std::uint64_t>(std::clamp(1e9 / rate(), 1.0, 1e18));
    base_ = middle_ = latest_ = reading;
    rate_ = 0;
    jump_ns_ = std::clamp(off, -kLargestNs, kLargestNs);
    return Outcome::kJumped;
  }
  if (readings_ == 1 && (latest_.ns == 0 || reading.tsc <= latest_.tsc || reading.ns < latest_.ns)) {
    base_ = middle_ = reading;  // there was no origin, or none before these readings
  } else {
    error_ns_ = std::max(error_ns_, static_cast<std::uint64_t>(std::min(std::abs(off), kLargestNs)));
  }
  latest_ = reading;
  const bool changed = move_window();
  rate_ = 0;
  rate_ = rate();
  return changed ? Outcome::kNewRate : Outcome::kUsed;
}

std::int64_t ClockFit::ns(std::uint64_t tsc) const {
  const double since = difference(tsc, latest_.tsc) * rate();
  const double latest = static_cast<double>(latest_.ns);
  if (!(latest + since > 0)) return 0;
  if (!(latest + since < kLargestNs)) return kLargest;
  // Add as integers: a double has nanoseconds since boot only to the microsecond.
  return std::min<std::int64_t>(kLargest, static_cast<std::int64_t>(latest_.ns) + std::llround(since));
}

}  // namespace dcmt::recorder
