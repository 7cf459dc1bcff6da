// What a report says of memory that waited for streams, and of the pools of streams.
#pragma once

#include <string>

#include "cli/inputs.h"
#include "cli/text.h"

namespace dcmt::cli {

/// @param finding  of the rule awaits_stream
[[nodiscard]] std::string waits_text(const LoadedTrace& trace, const analyzer::Finding& finding, const Style& style);

/// @param finding  of the rule reserved_beyond_active
[[nodiscard]] std::string pools_text(const LoadedTrace& trace, const analyzer::Finding& finding, const Style& style);

}  // namespace dcmt::cli
