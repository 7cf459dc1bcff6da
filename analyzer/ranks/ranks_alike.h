// Groups of ranks without a difference between them, so that one report stands for each group.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::analyzer {

struct AlikeRanks {
  Ranks ranks;
  std::string path;  ///< trace of the group's first rank
  Bytes peak;        ///< the highest peak of the group
};

/// The largest group is the last one: it is the normal case of the run. The others come by peak, the highest first.
[[nodiscard]] std::vector<AlikeRanks> ranks_alike(const RankComparison& comparison);

}  // namespace dcmt::analyzer
