// Growth of what is in storages that are too small to be followed: how much is known, but not what holds it.
#pragma once

#include <optional>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/remarks.h"

namespace dcmt::analyzer {

/// nullopt if their sum does not grow, by hardly anything, or the run is too short for a verdict.
[[nodiscard]] std::optional<Remark> unfollowed_growth(const TraceData& data);

}  // namespace dcmt::analyzer
