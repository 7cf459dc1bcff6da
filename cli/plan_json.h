// A plan as the file that dcmt_zero3.replay reads, and a replay's outcome as JSON. Keys: docs/json.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/replay/replay_comparison.h"
#include "analyzer/replay/replay_plan.h"
#include "cli/inputs.h"
#include "cli/json_values.h"

namespace dcmt::cli {

/// One replay: the findings of a stretch of the run.
struct Replay {
  std::vector<const analyzer::Finding*> findings;  ///< empty: a step was asked for
  analyzer::ReplayPlan plan;
  std::vector<std::string> switches;  ///< as given: "name", "name=off"
  analyzer::ReplayFacts facts;        ///< of the replay
  std::optional<analyzer::ReplayDifference> difference;
};

[[nodiscard]] Json plan_json(const LoadedTrace& trace, const analyzer::ReplayPlan& plan);
[[nodiscard]] Json reproduce_json(const LoadedTrace& trace, const std::vector<Replay>& replays);

}  // namespace dcmt::cli
