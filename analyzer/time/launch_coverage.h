// How much was seen of what the GPU was given to do.
#pragma once

#include <optional>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct LaunchCoverage {
  LaunchCounts counts;
  bool whole = true;  ///< launches were looked at all the time
};

/// What was seen between two moments (`until` zero: the end of the trace) of the kernels that could have touched a
/// storage. nullopt if it is the CPU's, and if nobody looked.
[[nodiscard]] std::optional<LaunchCoverage> launch_coverage(const TraceData& data, StorageId storage, Sequence from,
                                                            Sequence until);

}  // namespace dcmt::analyzer
