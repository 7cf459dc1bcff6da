// Chooses the stretches of a run to replay.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_plan.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// At most one member is set. If none is: every finding; without findings: the step of the peak.
struct ReplayRequest {
  std::optional<std::int64_t> finding = std::nullopt;  ///< its number
  std::optional<std::int64_t> step = std::nullopt;     ///< its number
};

/// A stretch with the findings that lie in it.
struct ChosenReplay {
  ReplayPlan plan;
  std::vector<const Finding*> findings;  ///< empty: a step was requested, or there are no findings
};

struct ReplayChoice {
  std::vector<ChosenReplay> replays;  ///< at least one
  std::vector<Error> left_out;        ///< reasons why some of the findings cannot be replayed
};

/// Fails if nothing can be replayed: kUsage if there is no such finding or step, kNotComparable for a finding without
/// parameters, kBadInput if the trace lacks what a plan needs. `analysis` must outlive the result.
[[nodiscard]] Expected<ReplayChoice> choose_replays(const Analysis& analysis, const ReplayRequest& request);

}  // namespace dcmt::analyzer
