// The ranks of a run beside each other, for machines (docs/json.md).
#pragma once

#include "analyzer/ranks/rank_comparison.h"
#include "cli/json_values.h"

namespace dcmt::cli {

/// The whole document of `show ranks`.
[[nodiscard]] Json ranks_json(const analyzer::RankComparison& comparison);

}  // namespace dcmt::cli
