// Groups of ranks between which a comparison finds no difference, so that one report stands for each of them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::analyzer {

struct AlikeRanks {
  Ranks ranks;
  std::string path;  ///< of the first one's trace
  Bytes peak;        ///< the highest of theirs
};

/// The largest group is the last one: what is usual in the run. Before it the others, the highest peak first.
[[nodiscard]] std::vector<AlikeRanks> ranks_alike(const RankComparison& comparison);

}  // namespace dcmt::analyzer
