// Comparisons of a run's ranks as text for people.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/ranks_alike.h"
#include "analyzer/ranks/ranks_of_run.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string ranks_text(const analyzer::RankComparison& comparison, const Style& style);

/// The text before the reports of the first of many ranks: differences, and groups of equal ranks.
[[nodiscard]] std::string many_ranks_text(const analyzer::RankComparison& comparison,
                                          const std::vector<analyzer::AlikeRanks>& groups, const Style& style);

/// The text after the first rank of a group: ", like ranks 1 to 7". Empty if it is alone.
[[nodiscard]] std::string alike_text(const analyzer::AlikeRanks& group);

/// The memory of all processes together, and how well the clocks of ranks compare. Empty for one process.
[[nodiscard]] std::string processes_text(const analyzer::RanksOfRun& ranks, const Style& style);

/// The text after the reports of several ranks: how well their clocks compare, and differences. Empty for one process.
[[nodiscard]] std::string run_text(const analyzer::RanksOfRun& ranks, const Style& style);

}  // namespace dcmt::cli
