// Findings about streams: blocks that wait for streams, and memory that each stream's pool keeps.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string waits_text(const model::Finding& finding, const Style& style);
[[nodiscard]] std::string pools_text(const model::Finding& finding, const Style& style);

}  // namespace dcmt::cli
