// What differs between runs, as a person reads it.
#pragma once

#include <string>

#include "analyzer/compare/difference.h"
#include "cli/text.h"

namespace dcmt::cli {

[[nodiscard]] std::string diff_text(const analyzer::RunsDifference& runs, const Style& style);

}  // namespace dcmt::cli
