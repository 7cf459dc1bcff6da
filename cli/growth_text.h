// Findings about memory that grows, as text.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "cli/text.h"

namespace dcmt::cli {

/// "Memory grows by 1.5 MiB a step, held by probe.seen and losses. "; empty if nothing grows.
[[nodiscard]] std::string growth_sentence(const model::Report& report, const Style& style);

[[nodiscard]] std::string growth_text(const model::Finding& finding, const Style& style);
/// A finding about memory that is not torch's.
[[nodiscard]] std::string outside_growth_text(const model::Finding& finding, const Style& style);

}  // namespace dcmt::cli
