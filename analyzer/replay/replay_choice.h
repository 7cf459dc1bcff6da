// Which stretches of a run are replayed for what was asked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_plan.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// One of them, or neither: every finding; where there is none, the step of the peak.
struct ReplayRequest {
  std::optional<std::int64_t> finding = std::nullopt;  ///< its number
  std::optional<std::int64_t> step = std::nullopt;     ///< its number
};

/// A stretch, and the findings that lie in it.
struct ChosenReplay {
  ReplayPlan plan;
  std::vector<const Finding*> findings;  ///< empty: a step was asked for, or there is no finding
};

struct ReplayChoice {
  std::vector<ChosenReplay> replays;  ///< at least one
  std::vector<Error> left_out;        ///< why some findings cannot be replayed while others can
};

/// Fails if nothing can be replayed: kUsage where there is no such finding or step, kNotComparable for a finding that
/// is of no parameter, kBadInput where the trace has not what a plan needs. `analysis` must outlive the result.
[[nodiscard]] Expected<ReplayChoice> choose_replays(const Analysis& analysis, const ReplayRequest& request);

}  // namespace dcmt::analyzer
