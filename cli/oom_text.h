// Findings about memory that ran out, as text.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string out_of_memory_text(const model::Finding& finding, const Style& style);

}  // namespace dcmt::cli
