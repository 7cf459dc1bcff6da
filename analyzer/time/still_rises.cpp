#include "analyzer/time/still_rises.h"

#include <algorithm>
#include <array>
#include <limits>

namespace dcmt::analyzer {
namespace {

/// Of the peak; by how much the least, or the most, of the last quarter is above that of the second.
constexpr double kMuch = 0.1;
/// Of all that it rises, each of the last two quarters has at least this part.
constexpr double kSteady = 0.25;

using Quarters = std::array<std::int64_t, 4>;

bool rises_by_much(const Quarters& bytes, std::int64_t peak) {
  const auto rise = static_cast<double>(bytes[3] - bytes[1]);
  return rise >= kMuch * static_cast<double>(peak) && static_cast<double>(bytes[2] - bytes[1]) >= kSteady * rise &&
         static_cast<double>(bytes[3] - bytes[2]) >= kSteady * rise;
}

}  // namespace

Rises still_rises(const TraceData& data, StringId device, const std::vector<Gap>& gaps, Sequence from, Sequence to) {
  if (to <= from) return {};
  Quarters least{}, most{};
  least.fill(std::numeric_limits<std::int64_t>::max());
  std::int64_t now = 0, peak = 0;
  std::size_t last = 0;
  for_each_point(data, device, gaps, [&](const CurvePoint& point) {
    peak = std::max(peak, point.bytes.value);
    if (from <= point.seq && point.seq <= to) {
      const auto quarter = static_cast<std::size_t>(4 * (point.seq.value - from.value) / (to.value - from.value + 1));
      if (quarter != last) least[quarter] = std::min(least[quarter], now);
      least[quarter] = std::min(least[quarter], point.bytes.value);
      most[quarter] = std::max(most[quarter], point.bytes.value);
      last = quarter;
    }
    now = point.bytes.value;
  });
  if (std::ranges::max(least) == std::numeric_limits<std::int64_t>::max()) return {};
  return {rises_by_much(least, peak), rises_by_much(most, peak)};
}

}  // namespace dcmt::analyzer
