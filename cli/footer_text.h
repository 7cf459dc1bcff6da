// The end of every report: how much of the run is in the trace, remarks and notes.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string footer_text(const model::Report& report, const Style& style);

}  // namespace dcmt::cli
