// Which ranks have what most of the others have not.
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

/// By rank. Where two sides have equally many ranks, those with the higher peak, with the finding, or with residual
/// bytes stand apart; of another order of gathers or other parameters none does.
[[nodiscard]] std::vector<RankApart> ranks_apart(const RankComparison& comparison);

}  // namespace dcmt::analyzer
