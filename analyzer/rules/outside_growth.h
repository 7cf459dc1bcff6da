// Detects memory that is not torch's and grows with each step.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Bytes of one kind after a number of steps.
struct BytesAfter {
  double steps = 0;
  double bytes = 0;
};

/// The result of steady_growth().
struct SteadyGrowth {
  double per_step = 0;      ///< bytes: the median of the slopes between all points
  double from = 0, to = 0;  ///< steps
};

/// Bytes per step: the median of the slopes between all pairs of points; 0 if there are none.
[[nodiscard]] double median_slope(std::span<const BytesAfter> points);

/// Detects growth of the points, which are in the order of their steps: in every part of the run except the first, by
/// similar amounts, and up to its end. What fills up and stops, jumps, or shrinks again does not count.
[[nodiscard]] std::optional<SteadyGrowth> steady_growth(std::span<const BytesAfter> points);

struct OutsideGrowth {
  std::string kind;              ///< class of the mappings: "malloc"; "numpy": arrays
  std::string holder;            ///< of arrays: "main: rows"; else empty
  std::string_view place, type;  ///< of the holder, as in Growth
  std::string_view file;         ///< file of the largest mapping; empty: none
  std::int64_t steps = 0;        ///< number of steps with observed growth
  Bytes per_step;
  Bytes before, after;  ///< at the first and the last reading of the classes
  std::int64_t arrays = 0;
};

}  // namespace dcmt::analyzer
