// What is kept of one trace to report it together with those of many other ranks: small, with texts of its own, and
// readable again from a file, so that a run of hundreds of ranks is reported without reading all traces again.
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
  bool found = false;  ///< a finding about the training
};

[[nodiscard]] RankSummary rank_summary(const Analysis& analysis);

/// The same in a bounded size, for many ranks: of the steps with gathers the last ones, of the events that ranks share
/// those of some steps. Which these are follows from the steps' numbers alone, so that ranks keep the same ones.
void bound(RankSummary& summary);

/// As text, for a file that only the same build reads: `made_of` says which trace it is of, and which build wrote it.
[[nodiscard]] std::string text_of(const RankSummary& summary, std::string_view made_of);
/// nullopt if the text is of something else, or damaged. The path of the trace is not in it.
[[nodiscard]] std::optional<RankSummary> summary_in(std::string_view text, std::string_view made_of);

}  // namespace dcmt::analyzer
