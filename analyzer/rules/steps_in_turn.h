// Optimizers that step in turn, as those of a GAN: each one's step ends a step, so a turn of the loop has several.
#pragma once

#include <optional>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/remarks.h"

namespace dcmt::analyzer {

/// nullopt if one line calls the steps, or the lines are not known: they are read off what the steps allocate.
[[nodiscard]] std::optional<Remark> steps_in_turn(const TraceData& data);

}  // namespace dcmt::analyzer
