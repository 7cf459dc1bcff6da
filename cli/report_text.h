// The report as a person reads it.
#pragma once

#include <string>
#include <vector>

#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_facts.h"
#include "cli/inputs.h"
#include "cli/json_values.h"
#include "cli/text.h"

namespace dcmt::cli {

/// The report of several traces, given one after the other so that one is in memory at a time. A rank that says the
/// same as the one before it gets one line.
class ReportText {
 public:
  /// `titles`: there are several traces.
  ReportText(bool titles, const Style& style) : titles_(titles), style_(style) {}

  void add(const LoadedTrace& trace);
  /// The whole text, with what compares the ranks at its end.
  [[nodiscard]] std::string finish();

 private:
  bool titles_;
  Style style_;
  std::string text_, shown_;  ///< shown_: title of the last trace that was not equal to the one before it
  Json essence_;              ///< of that trace
  std::vector<analyzer::RankEvents> events_;
  std::vector<analyzer::RankFacts> ranks_;
};

/// Parts that other faces show too.
[[nodiscard]] std::string where_of_peak(const analyzer::TraceData& data, const analyzer::DeviceAnalysis& device);
[[nodiscard]] std::string footer_text(const LoadedTrace& trace, const Style& style);
/// Lines "held by …" of what one census found.
[[nodiscard]] std::string holder_lines(const analyzer::TraceData& data, const analyzer::Holders& holders,
                                       std::string_view suffix, const Style& style);
/// "storage 1 = 1 explained + 0 unexplained · tensors …".
[[nodiscard]] std::string count_text(const analyzer::Holders& holders);
/// "by the last reference, at the return of Runner.call".
[[nodiscard]] std::string gone_text(const analyzer::TraceData& data, const analyzer::Gone& gone,
                                    const analyzer::Holders* holders);

/// A line of a finding.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);

}  // namespace dcmt::cli
