// Judges the releases of a trace.
#pragma once

#include "analyzer/releases/releases.h"

namespace dcmt::analyzer {

/// Needs the indexes of `data`, which must outlive the result.
[[nodiscard]] Releases analyze_releases(const TraceData& data);

}  // namespace dcmt::analyzer
