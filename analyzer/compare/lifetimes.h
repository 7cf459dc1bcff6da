// How long blocks lived, as `diff` compares it: by the ends of phases and steps that they outlived. Times differ from
// run to run; these do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// Blocks of a device that began in one step and were freed alike.
struct LifetimeFact {
  std::int64_t step = 0;        ///< in which they began, from 0
  std::int64_t end_step = 0;    ///< in which they ended; kAlive: not in a step
  std::int64_t phase_ends = 0;  ///< that they outlived, if they ended in the step in which they began
  std::int64_t blocks = 0;
  Bytes bytes;
  TimeNs lived;  ///< sum

  static constexpr std::int64_t kAlive = -1;
};

/// Of the blocks of a device that have rows. Nothing of a trace of which steps have sums only.
[[nodiscard]] std::vector<LifetimeFact> lifetime_facts(const Analysis& analysis, StringId device);

/// One bar of the two histograms.
struct LifetimeDifference {
  std::string_view unit = kPhases;
  std::int64_t least = 0;
  std::optional<std::int64_t> most;
  std::int64_t before_blocks = 0, after_blocks = 0;
  Bytes before, after;
  std::optional<TimeNs> before_lived, after_lived;

  static constexpr std::string_view kPhases = "phases", kSteps = "steps", kAlive = "alive";

  [[nodiscard]] bool differs() const { return before_blocks != after_blocks || before != after; }

  static constexpr std::string_view kShape = "lifetime_difference";
  static void describe(auto&& field) {
    field("unit", &LifetimeDifference::unit,
          "of `least` and `most`: \"phases\", \"steps\" whose ends the blocks outlived; \"alive\" at the end of the "
          "last step that both runs have");
    field("least", &LifetimeDifference::least, "0 phases: they ended in the phase in which they began");
    field("most", &LifetimeDifference::most, "null: no bound");
    field("before_blocks", &LifetimeDifference::before_blocks, "");
    field("after_blocks", &LifetimeDifference::after_blocks, "");
    field("before_bytes", &LifetimeDifference::before, "of these blocks");
    field("after_bytes", &LifetimeDifference::after, "");
    field("before_ns", &LifetimeDifference::before_lived, "how long they lived in the mean; null: none, or not ended");
    field("after_ns", &LifetimeDifference::after_lived, "");
  }
};

/// The blocks that begin in a number of steps that both runs have.
struct LifetimeHistograms {
  std::vector<LifetimeDifference> bars;  ///< the shortest lives first, of which one of the runs has blocks
  std::int64_t from_step = 0, steps = 0;

  [[nodiscard]] bool differ() const;

  static constexpr std::string_view kShape = "lifetime_histograms";
  static void describe(auto&& field) {
    field("from_step", &LifetimeHistograms::from_step, "the first step of which blocks are counted, from 0");
    field("steps", &LifetimeHistograms::steps, "of which blocks are counted; of a run without steps, 1 is all of it");
    field("bars", &LifetimeHistograms::bars, "the shortest lives first; a bar without blocks is left out");
  }
};

/// Of the steps after the first one, of which both have at least two; else of all that the runs have in common.
/// @param steps  that ended in both runs
[[nodiscard]] LifetimeHistograms histograms_of(const std::vector<LifetimeFact>& before,
                                               const std::vector<LifetimeFact>& after, std::int64_t steps);

}  // namespace dcmt::analyzer
