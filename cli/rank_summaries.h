// Summaries of traces, each in a file beside its trace. `report` and `show ranks` read them instead of the traces of
// many ranks. A summary is written when a run ends, or by the first command that needs it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_summary.h"
#include "cli/inputs.h"

namespace dcmt::cli {

/// Up to this many traces are loaded and reported in full; more are summarized.
inline constexpr std::size_t kMostInFull = 4;

/// Reads the file beside the trace if this build wrote it and the trace has not changed since. Else the trace is read,
/// and the file is written if possible.
Expected<analyzer::RankSummary> load_summary(OpenedTrace trace);

/// The facts that are compared between ranks, trace by trace. For many traces, the summaries are used.
Expected<std::vector<analyzer::RankFacts>> load_rank_facts(const std::vector<std::string>& paths);

/// Writes summaries for the traces of a run that has ended, if it has many ranks and they can be read fast enough: the
/// job waits for it. Failures are no failures of the run; `report` encounters them again.
void summarize(const std::vector<std::string>& traces);

}  // namespace dcmt::cli
