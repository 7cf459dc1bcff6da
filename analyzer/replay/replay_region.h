// Which stretch of a run a replay plays.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/analysis.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Whole steps, or all of a trace that has none.
struct ReplayRegion {
  Sequence from, to;        ///< [from, to)
  std::vector<Step> steps;  ///< those that end in it, in order

  [[nodiscard]] bool has(Sequence at) const { return at >= from && at < to; }
  friend bool operator==(const ReplayRegion& a, const ReplayRegion& b) { return a.from == b.from && a.to == b.to; }
};

/// The step in which most of a finding lies, with the later one that the reads after its releases reach. kNotComparable
/// for a finding that is of no parameter.
[[nodiscard]] Expected<ReplayRegion> region_of(const Analysis& analysis, const Finding& finding);
/// kUsage if there is no such step.
[[nodiscard]] Expected<ReplayRegion> region_of_step(const Analysis& analysis, std::int64_t step);
/// The step of the peak.
[[nodiscard]] ReplayRegion region_of_peak(const Analysis& analysis);

}  // namespace dcmt::analyzer
