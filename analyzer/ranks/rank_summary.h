// The facts of one trace that a report about many ranks needs. They are small, own their texts, and can be stored in a
// file, so that a run of hundreds of ranks is reported without reading all traces again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/analysis.h"
#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_facts.h"

namespace dcmt::analyzer {

struct RankSummary {
  RankFacts facts;
  RankEvents events;
  bool found = false;  ///< true if there is a finding about the training
};

[[nodiscard]] RankSummary rank_summary(const Analysis& analysis);

/// Limits the size, for many ranks: keeps the last steps with gathers, and the shared events of some steps. The
/// selection depends only on the steps' numbers, so all ranks keep the same steps.
void bound(RankSummary& summary);

/// The text of a file that only the same build can read. `made_of` names the trace and the build.
[[nodiscard]] std::string text_of(const RankSummary& summary, std::string_view made_of);
/// nullopt if the text is of another trace or build, or damaged. The text does not contain the path of the trace.
[[nodiscard]] std::optional<RankSummary> summary_in(std::string_view text, std::string_view made_of);

}  // namespace dcmt::analyzer
