// The ranks of a run beside each other, as a person reads them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/ranks_alike.h"
#include "analyzer/ranks/ranks_of_run.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string ranks_text(const analyzer::RankComparison& comparison, const Style& style);

/// What stands before the reports of the first of many ranks: what differs, and which ranks are alike.
[[nodiscard]] std::string many_ranks_text(const analyzer::RankComparison& comparison,
                                          const std::vector<analyzer::AlikeRanks>& groups, const Style& style);

/// Behind the first of the ranks: ", like ranks 1 to 7". Empty if there is no other.
[[nodiscard]] std::string alike_text(const analyzer::AlikeRanks& group);

/// How much all processes have together, and how well the clocks of ranks compare. Empty for one process.
[[nodiscard]] std::string processes_text(const analyzer::RanksOfRun& ranks, const Style& style);

/// What stands below the reports of several ranks: how well their clocks compare, and what differs. Empty for one
/// process.
[[nodiscard]] std::string run_text(const analyzer::RanksOfRun& ranks, const Style& style);

}  // namespace dcmt::cli
