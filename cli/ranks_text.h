// The ranks of a run beside each other, as a person reads them.
#pragma once

#include <string>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/ranks_of_run.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string ranks_text(const analyzer::RankComparison& comparison, const Style& style);

/// What stands below the reports of several ranks: how well their clocks compare, and what differs. Empty for one process.
[[nodiscard]] std::string run_text(const analyzer::RanksOfRun& ranks, const Style& style);

}  // namespace dcmt::cli
