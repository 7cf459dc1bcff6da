// A replay's trace beside the plan that it was made from.
#pragma once

#include <optional>
#include <string>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_plan.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// The mark before which the replay makes itself ready.
inline constexpr std::string_view kReplayBegin = "dc-memtrace replay";

/// The mark from which on a replay without steps is compared: the state in which its region begins is there.
inline constexpr std::string_view kReplayRegion = "dc-memtrace replay: region";

/// What the replay did, under the recorded keys. kNotComparable if the trace is none of a replay of this plan.
[[nodiscard]] Expected<ReplayFacts> facts_of_replay(const Analysis& replay, const ReplayPlan& plan);

struct ReplayDifference {
  std::optional<std::size_t> release;  ///< of the plan's facts; none: it is of a finding
  std::string what;                    ///< "verdict", "allocated bytes"
  std::string recorded, replayed;

  static constexpr std::string_view kShape = "replay_difference";
  static void describe(auto&& field) {
    field("release", &ReplayDifference::release,
          "index in the plan's `expected.releases`; null: it is of a finding, the peak or the number of releases");
    field("what", &ReplayDifference::what,
          "\"parameter\", \"verdict\", \"residual\", \"bytes after the release\", \"bytes at the next operator\", "
          "\"allocated "
          "bytes\", \"reads after the release\", \"holders\", \"releases\", \"finding RULE\", \"peak\"");
    field("recorded", &ReplayDifference::recorded, "");
    field("replayed", &ReplayDifference::replayed, "");
  }
};

/// The first thing that is not as it was recorded: releases in their order, then findings, then the peak.
[[nodiscard]] std::optional<ReplayDifference> first_difference(const ReplayFacts& recorded,
                                                               const ReplayFacts& replayed);

}  // namespace dcmt::analyzer
