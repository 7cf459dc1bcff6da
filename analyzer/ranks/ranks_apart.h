// Finds the ranks that differ from most of the others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::analyzer {

struct RankApart {
  std::int64_t rank = 0;
  std::vector<std::string> in;  ///< "peak", "gathers", "parameters", "residual parameters", "findings"
};

/// Ordered by rank. If two sides have equally many ranks, those with the higher peak, with the finding, or with
/// residual bytes count as different. For another order of gathers or other parameters, neither side does then.
[[nodiscard]] std::vector<RankApart> ranks_apart(const RankComparison& comparison);

}  // namespace dcmt::analyzer
