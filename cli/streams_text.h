// Findings about streams: blocks that wait for them, and memory that each of them keeps for itself.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string waits_text(const model::Finding& finding, const Style& style);
[[nodiscard]] std::string pools_text(const model::Finding& finding, const Style& style);

}  // namespace dcmt::cli
