// A report as one page: pictures of the timeline and of what is alive at the peak, and the report's text. The page
// loads nothing else, and shows all contents of a trace as text.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs.h"
#include "trace/base/status.h"

namespace dcmt::cli {

class HtmlPage {
 public:
  /// Adds a trace with its report `report_text`. Fails if its pictures cannot be made.
  Status add(const LoadedTrace& trace, const std::string& report_text);
  /// `run_text`: about all ranks together.
  [[nodiscard]] std::string page(const std::string& run_text) const;

 private:
  std::string body_;
  std::vector<std::string> titles_;
};

}  // namespace dcmt::cli
