// The report as text for people.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "cli/text.h"

namespace dcmt::cli {

/// The reports of several traces. They are added one by one, so that only one trace is in memory at a time. A rank
/// whose report equals the previous one gets one line.
class ReportText {
 public:
  /// `titles`: true for several traces.
  ReportText(bool titles, const Style& style) : titles_(titles), style_(style) {}

  /// `alike`: a text about other ranks for which this report stands.
  void add(const model::Report& report, const std::string& alike = {});
  /// The text of all reports.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The next useful command: for what was watched, else for the first finding, else for the composition of the peak.
  /// It is the last line of output.
  [[nodiscard]] std::string next_line() const;

 private:
  bool titles_;
  Style style_;
  std::string text_, shown_;            ///< shown_: title of the last trace that differed from the previous one
  model::ComparableReport comparable_;  ///< of that trace
  std::string next_;
  bool next_is_asked_ = false;  ///< it is about what was watched, or about a finding
  bool has_ranks_ = false;      ///< a report of a rank was added
};

}  // namespace dcmt::cli
