// Differences between runs as text for people.
#pragma once

#include <string>

#include "analyzer/compare/difference.h"
#include "cli/text.h"

namespace dcmt::cli {

/// "rank 2 of new", "the process without a rank of new".
[[nodiscard]] std::string lone_ranks_name(const analyzer::LoneRanks& ranks);
[[nodiscard]] std::string diff_text(const analyzer::RunsDifference& runs, const Style& style);

}  // namespace dcmt::cli
