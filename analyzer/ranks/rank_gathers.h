// The gathers of ranks, step by step: their order, their bytes and uses, and the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/rank_facts.h"

namespace dcmt::analyzer {

/// One step, with the ranks that have it.
struct StepOfRanks {
  struct Part {
    const RankFacts* facts;
    const RankStep* step;
  };
  std::int64_t number = 0;
  std::vector<Part> parts;
};

/// The steps that at least two ranks have, in order.
[[nodiscard]] std::vector<StepOfRanks> steps_in_common(const std::vector<RankFacts>& ranks);

/// The first position at which ranks gather different parameters, and all steps in which the order differs.
[[nodiscard]] std::optional<GatherDivergence> compare_order(const std::vector<StepOfRanks>& steps);

[[nodiscard]] std::vector<ParameterDifference> compare_parameters(const std::vector<StepOfRanks>& steps);

/// The last gathers of the ranks, the latest first.
[[nodiscard]] std::vector<LastGather> compare_ends(const std::vector<RankFacts>& ranks);

}  // namespace dcmt::analyzer
