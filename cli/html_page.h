// A report as one page: the timeline and what is alive at the peak as pictures, and the report's text. Nothing of it is
// fetched from anywhere, and whatever a trace says is shown as text.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs.h"
#include "trace/base/status.h"

namespace dcmt::cli {

class HtmlPage {
 public:
  /// Adds a trace of which `report_text` is the report. Fails if its pictures cannot be made.
  Status add(const LoadedTrace& trace, const std::string& report_text);
  /// `run_text`: of all ranks together.
  [[nodiscard]] std::string page(const std::string& run_text) const;

 private:
  std::string body_;
  std::vector<std::string> titles_;
};

}  // namespace dcmt::cli
