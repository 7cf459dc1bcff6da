// Cycle counter to monotonic nanoseconds, from readings of both at one moment: a line through the latest reading with
// the rate of the last ten to twenty seconds, because the rate of the monotonic clock is adjusted while the job runs.
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
    kTaken,
    kEarlier,   ///< older than the latest one and on the line: threads' readings may arrive out of order
    kNonsense,  ///< runs backwards; ignored
    kJumped,    ///< far off the line (the machine was suspended, the counter was reset): the line begins anew here
    kNewRate,   ///< taken; the counter's rate differs from before (the process moved to another host)
  };

  /// @param hz  cycles per second to use until two readings are far enough apart; 0: unknown, 1 GHz is assumed
  /// @param origin  a reading to begin with; ns 0: none
  ClockFit(std::uint64_t hz, ClockReading origin);

  Outcome add(ClockReading reading);

  /// True if the reading lies on the line or near it: it is of the same clocks as those before.
  [[nodiscard]] bool agrees(ClockReading reading) const;

  [[nodiscard]] std::int64_t ns(std::uint64_t tsc) const;

  /// How far off the line a reading was, at most, before it was taken: the error of the times between readings. Jumps
  /// do not count.
  [[nodiscard]] std::int64_t error_ns() const { return static_cast<std::int64_t>(error_ns_); }
  [[nodiscard]] std::int64_t readings() const { return static_cast<std::int64_t>(readings_); }
  /// Of the last kJumped: how far the counter's time ran ahead of the monotonic clock.
  [[nodiscard]] std::int64_t jump_ns() const { return static_cast<std::int64_t>(jump_ns_); }
  /// Of the last kNewRate: by how many millionths.
  [[nodiscard]] std::int64_t rate_change_ppm() const { return rate_change_ppm_; }

  /// Hands every member to `visit(name, value)`, to be saved or loaded.
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
  ClockReading base_, middle_, latest_;  ///< the rate is that of base to latest
  std::uint64_t readings_ = 0;
  std::uint64_t error_ns_ = 0;
  double rate_ = 0;  ///< ns per cycle, 0 until it is computed
  double jump_ns_ = 0;
  std::int64_t rate_change_ppm_ = 0;
};

}  // namespace dcmt::recorder
