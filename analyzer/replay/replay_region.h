// The stretch of a run that a replay plays.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/model/analysis.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Complete steps, or the whole trace if it has no steps.
struct ReplayRegion {
  Sequence from, to;        ///< [from, to)
  std::vector<Step> steps;  ///< steps that end in the region, in order

  [[nodiscard]] bool has(Sequence at) const { return at >= from && at < to; }
  friend bool operator==(const ReplayRegion& a, const ReplayRegion& b) { return a.from == b.from && a.to == b.to; }
};

/// The step that contains most of a finding, up to the later step with reads after its releases. kNotComparable for a
/// finding without parameters.
[[nodiscard]] Expected<ReplayRegion> region_of(const Analysis& analysis, const Finding& finding);
/// kUsage if there is no such step.
[[nodiscard]] Expected<ReplayRegion> region_of_step(const Analysis& analysis, std::int64_t step);
/// The step of the peak.
[[nodiscard]] ReplayRegion region_of_peak(const Analysis& analysis);

}  // namespace dcmt::analyzer
