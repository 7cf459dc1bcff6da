// How much each step adds, for the status line: from figures at any points of the steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace dcmt::recorder {

/// Compares the lowest figures of two stretches of time: within a step, memory rises and falls. Thread-safety: none.
class StepGrowth {
 public:
  /// @param steps  finished so far
  void add(std::int64_t steps, std::int64_t bytes) {
    if (bytes < now_.lowest) now_ = {steps, bytes, now_.figures};
    if (++now_.figures < kFigures) return;
    before_ = latest_;
    latest_ = now_;
    now_ = {};
  }

  /// Bytes that each step adds; nullopt if too little was seen.
  [[nodiscard]] std::optional<std::int64_t> bytes_a_step() const {
    if (before_.figures == 0 || latest_.steps <= before_.steps) return std::nullopt;
    return (latest_.lowest - before_.lowest) / (latest_.steps - before_.steps);
  }

 private:
  static constexpr int kFigures = 12;  // three seconds of a status line

  struct Stretch {
    std::int64_t steps = 0;  ///< at its lowest figure
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    int figures = 0;
  };
  Stretch before_, latest_, now_;
};

}  // namespace dcmt::recorder
