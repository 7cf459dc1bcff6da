// The report as a person reads it.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "cli/text.h"

namespace dcmt::cli {

/// The reports of several traces, given one after the other so that one trace is in memory at a time. A rank that says
/// the same as the one before it gets one line.
class ReportText {
 public:
  /// `titles`: there are several traces.
  ReportText(bool titles, const Style& style) : titles_(titles), style_(style) {}

  /// `alike`: other ranks for which it stands, in words.
  void add(const model::Report& report, const std::string& alike = {});
  /// The text of all.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// The command that fits next: of the first finding, else what the peak consists of. The last line of all output.
  [[nodiscard]] std::string next_line() const;

 private:
  bool titles_;
  Style style_;
  std::string text_, shown_;  ///< shown_: title of the last trace that was not equal to the one before it
  model::Essence essence_;    ///< of that trace
  std::string next_;
  bool next_is_of_a_finding_ = false;
};

}  // namespace dcmt::cli
