// Memory that is not torch's and grows with each step: what of it is recognized.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Bytes of one kind after so many steps.
struct BytesAfter {
  double steps = 0;
  double bytes = 0;
};

/// How steadily something grows.
struct SteadyGrowth {
  double per_step = 0;      ///< bytes: the median of the slopes between points
  double from = 0, to = 0;  ///< steps
};

/// Bytes a step, by the median of the slopes of all pairs of points; 0: there are none.
[[nodiscard]] double median_slope(std::span<const BytesAfter> points);

/// Whether the points, in the order of their steps, grow in every part of the run but its first, by about as much in
/// each, to its end. What fills and stops, jumps, or comes back does not.
[[nodiscard]] std::optional<SteadyGrowth> steady_growth(std::span<const BytesAfter> points);

struct OutsideGrowth {
  std::string kind;              ///< class of the mappings: "malloc"; "numpy": arrays
  std::string holder;            ///< of arrays: "main: rows"; else empty
  std::string_view place, type;  ///< of the holder, as of a Growth
  std::string_view file;         ///< the file of the largest mapping; empty: none
  std::int64_t steps = 0;        ///< in which it was seen to grow
  Bytes per_step;
  Bytes before, after;  ///< at the first and the last reading of the classes
  std::int64_t arrays = 0;
};

}  // namespace dcmt::analyzer
