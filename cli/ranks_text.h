// The ranks of a run beside each other, as a person reads them.
#pragma once

#include <string>

#include "analyzer/ranks/rank_comparison.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string ranks_text(const analyzer::RankComparison& comparison, const Style& style);

/// One line of what differs, for a report; empty if nothing does. `paths` are what `show ranks` takes.
[[nodiscard]] std::string ranks_line(const analyzer::RankComparison& comparison, const std::string& paths,
                                     const Style& style);

}  // namespace dcmt::cli
