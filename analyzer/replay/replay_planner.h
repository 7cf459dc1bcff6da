// Makes the plan of a region.
#pragma once

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_plan.h"
#include "analyzer/replay/replay_region.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// kBadInput if the trace has only sums of the region, or no gather in it.
[[nodiscard]] Expected<ReplayPlan> plan_of(const Analysis& analysis, const ReplayRegion& region);

}  // namespace dcmt::analyzer
