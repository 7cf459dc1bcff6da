// Converts the cycle counter to monotonic nanoseconds, from simultaneous readings of both. It uses a line through the
// latest reading, with the rate of the last ten to twenty seconds, because the rate of the monotonic clock is adjusted
// while the job runs.
#pragma once

#include <cstdint>

namespace dcmt::recorder {

struct ClockReading {
  std::uint64_t tsc = 0;
  std::uint64_t ns = 0;
};

/// Thread-safety: none.
class ClockFit {
 public:
  enum class Outcome {
    kUsed,
    kEarlier,   ///< older than the latest reading, and on the line: threads' readings may arrive out of order
    kNonsense,  ///< goes backwards; ignored
    kJumped,    ///< far from the line (the machine was suspended, or the counter was reset): a new line begins here
    kNewRate,   ///< used; the counter's rate has changed (the process moved to another host)
  };

  /// @param hz  cycles per second until two readings are far enough apart; 0: unknown, 1 GHz is assumed
  /// @param origin  the first reading; ns 0: none
  ClockFit(std::uint64_t hz, ClockReading origin);

  Outcome add(ClockReading reading);

  /// True if the reading is on the line or near it: its clocks are those of the earlier readings.
  [[nodiscard]] bool agrees(ClockReading reading) const;

  [[nodiscard]] std::int64_t ns(std::uint64_t tsc) const;

  /// The largest distance of a reading from the line before it was used: the error of the times between readings. Jumps
  /// do not count.
  [[nodiscard]] std::int64_t error_ns() const { return static_cast<std::int64_t>(error_ns_); }
  [[nodiscard]] std::int64_t readings() const { return static_cast<std::int64_t>(readings_); }
  /// For the last kJumped: how far the counter's time was ahead of the monotonic clock.
  [[nodiscard]] std::int64_t jump_ns() const { return static_cast<std::int64_t>(jump_ns_); }
  /// For the last kNewRate: the change in millionths.
  [[nodiscard]] std::int64_t rate_change_ppm() const { return rate_change_ppm_; }

  /// Calls `visit(name, value)` for every member, to save or load it.
  template <class Visit>
  void visit(Visit&& visit) {
    visit("clock.base_tsc", base_.tsc);
    visit("clock.base_ns", base_.ns);
    visit("clock.middle_tsc", middle_.tsc);
    visit("clock.middle_ns", middle_.ns);
    visit("clock.latest_tsc", latest_.tsc);
    visit("clock.latest_ns", latest_.ns);
    visit("clock.hz", hz_);
    visit("clock.readings", readings_);
    visit("clock.error_ns", error_ns_);
  }

 private:
  [[nodiscard]] double rate() const;
  [[nodiscard]] double off_line(ClockReading reading) const;
  [[nodiscard]] double tolerance(ClockReading reading) const;
  bool move_window();

  std::uint64_t hz_;
  ClockReading base_, middle_, latest_;  ///< the rate is computed from base to latest
  std::uint64_t readings_ = 0;
  std::uint64_t error_ns_ = 0;
  double rate_ = 0;  ///< ns per cycle, 0 until it is computed
  double jump_ns_ = 0;
  std::int64_t rate_change_ppm_ = 0;
};

}  // namespace dcmt::recorder
