// What ranks gather, step by step: in which order, with how many bytes and uses, and which gather comes last.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/rank_facts.h"

namespace dcmt::analyzer {

/// A step on the ranks that have it.
struct StepOfRanks {
  struct Part {
    const RankFacts* facts;
    const RankStep* step;
  };
  std::int64_t number = 0;
  std::vector<Part> parts;
};

/// In order of steps, those that two ranks have at least.
[[nodiscard]] std::vector<StepOfRanks> steps_in_common(const std::vector<RankFacts>& ranks);

/// Where the ranks first gather different parameters at one position, and all steps in which they do.
[[nodiscard]] std::optional<GatherDivergence> compare_order(const std::vector<StepOfRanks>& steps);

[[nodiscard]] std::vector<ParameterDifference> compare_parameters(const std::vector<StepOfRanks>& steps);

/// The last gathers, the latest first.
[[nodiscard]] std::vector<LastGather> compare_ends(const std::vector<RankFacts>& ranks);

}  // namespace dcmt::analyzer
