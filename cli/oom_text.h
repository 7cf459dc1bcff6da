// The finding of an out-of-memory error as a person reads it.
#pragma once

#include <string>

#include "analyzer/rules/finding.h"
#include "cli/inputs.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string out_of_memory_text(const LoadedTrace& trace, const analyzer::Finding& finding,
                                             const Style& style);

}  // namespace dcmt::cli
