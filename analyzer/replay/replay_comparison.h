// Compares a replay's trace with the plan that the replay followed.
#pragma once

#include <optional>
#include <string>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_plan.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Before this mark, the replay prepares itself.
inline constexpr std::string_view kReplayBegin = "dc-memtrace replay";

/// For a replay without steps, the comparison begins at this mark: the initial state of the region is complete there.
inline constexpr std::string_view kReplayRegion = "dc-memtrace replay: region";

/// The facts of the replay, with the recorded keys. kNotComparable if the trace is not of a replay of this plan.
[[nodiscard]] Expected<ReplayFacts> facts_of_replay(const Analysis& replay, const ReplayPlan& plan);

struct ReplayDifference {
  std::optional<std::size_t> release;  ///< index in the plan's facts; nullopt: in a finding or the peak
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

/// The first difference: releases in their order, then findings, then the peak.
[[nodiscard]] std::optional<ReplayDifference> first_difference(const ReplayFacts& recorded,
                                                               const ReplayFacts& replayed);

}  // namespace dcmt::analyzer
