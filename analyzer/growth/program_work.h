// The work of a program between two points of its time: steps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// When a program ends, a reading may find that its functions have returned before its end is noted; seconds.
inline constexpr double kAtEnd = 0.5;

/// Fewer steps are no unit for growth; the unit is a second then.
inline constexpr double kFewestWorkSteps = 8;

class ProgramWork {
 public:
  explicit ProgramWork(const TraceData& data);

  /// The program was at work then.
  [[nodiscard]] TimeNs latest() const { return latest_; }
  /// When the last step ended; not valid: there was none.
  [[nodiscard]] TimeNs last_step() const { return last_step_; }
  /// True if the program was noted to have ended soon after: what it had in variables of functions may be gone.
  [[nodiscard]] bool may_have_ended(TimeNs at) const;
  [[nodiscard]] double steps(TimeNs from, TimeNs to) const {
    return static_cast<double>(steps_by(to) - steps_by(from));
  }

 private:
  [[nodiscard]] std::int64_t steps_by(TimeNs at) const;

  std::vector<std::pair<TimeNs, std::int64_t>> ends_;  ///< of steps, with their number
  std::vector<TimeNs> noted_;                          ///< when the program was noted to have ended
  TimeNs latest_, last_step_;
};

}  // namespace dcmt::analyzer
