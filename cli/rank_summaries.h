// Summaries of traces, each in a file beside its trace: what `report` and `show ranks` read of many ranks instead of
// their traces. A summary is written when a run ends, or by the first command that needs it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_summary.h"
#include "cli/inputs.h"

namespace dcmt::cli {

/// Up to so many traces are read and reported each; more are summarized.
inline constexpr std::size_t kMostInFull = 4;

/// From the file beside the trace, if this build wrote it and the trace has not changed since. Else the trace is read,
/// and the file is written where that is possible.
Expected<analyzer::RankSummary> load_summary(OpenedTrace trace);

/// What is compared between ranks, of one trace after the other; of many, from their summaries.
Expected<std::vector<analyzer::RankFacts>> load_rank_facts(const std::vector<std::string>& paths);

/// Summaries of the traces of a run that has ended, for those of many ranks that are read fast enough: the job waits
/// for it. Failures are no failures of the run; `report` meets them again.
void summarize(const std::vector<std::string>& traces);

}  // namespace dcmt::cli
