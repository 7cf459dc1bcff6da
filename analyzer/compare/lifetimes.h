// How long blocks lived, as `diff` compares it: in ends of phases and steps that the blocks outlived. Times differ from
// run to run; these counts do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// Blocks of a device that began in one step and have the same end_step and phase_ends.
struct LifetimeFact {
  std::int64_t step = 0;        ///< the step in which they began, from 0
  std::int64_t end_step = 0;    ///< the step in which they ended; kAlive: they did not end in a step
  std::int64_t phase_ends = 0;  ///< ends of phases that they outlived, if they ended in their first step
  std::int64_t blocks = 0;
  Bytes bytes;
  TimeNs lived;  ///< sum over the blocks

  static constexpr std::int64_t kAlive = -1;
};

/// Facts of the blocks of a device that have rows. Empty for a trace that has steps with sums only.
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

/// Lifetimes of the blocks that begin in a range of steps that both runs have.
struct LifetimeHistograms {
  std::vector<LifetimeDifference> bars;  ///< the shortest lifetimes first; no bar is empty in both runs
  std::int64_t from_step = 0, steps = 0;

  [[nodiscard]] bool differ() const;

  static constexpr std::string_view kShape = "lifetime_histograms";
  static void describe(auto&& field) {
    field("from_step", &LifetimeHistograms::from_step, "the first step of which blocks are counted, from 0");
    field("steps", &LifetimeHistograms::steps, "of which blocks are counted; of a run without steps, 1 is all of it");
    field("bars", &LifetimeHistograms::bars, "the shortest lives first; a bar without blocks is left out");
  }
};

/// Covers the steps after the first one if both runs have at least two of those, else all steps that both runs have.
/// @param steps  the number of steps that ended in both runs
[[nodiscard]] LifetimeHistograms histograms_of(const std::vector<LifetimeFact>& before,
                                               const std::vector<LifetimeFact>& after, std::int64_t steps);

}  // namespace dcmt::analyzer
