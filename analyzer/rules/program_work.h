// The work of a program between two points of its time: steps.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Fewer steps are no unit for growth; the unit is a second then.
inline constexpr double kFewestWorkSteps = 8;

class ProgramWork {
 public:
  explicit ProgramWork(const TraceData& data);

  /// The program was at work then.
  [[nodiscard]] TimeNs latest() const { return latest_; }
  [[nodiscard]] double steps(TimeNs from, TimeNs to) const {
    return static_cast<double>(steps_by(to) - steps_by(from));
  }

 private:
  [[nodiscard]] std::int64_t steps_by(TimeNs at) const;

  std::vector<std::pair<TimeNs, std::int64_t>> ends_;  ///< of steps, with their number
  TimeNs latest_;
};

}  // namespace dcmt::analyzer
