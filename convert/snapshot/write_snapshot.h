// A trace as a memory snapshot of torch: a pickle that torch's memory_viz opens.
#pragma once

#include <iosfwd>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Devices are the trace's GPUs by their numbers, and after them the CPU. What holds a block is the first frame of its
/// stack. A trace has no segments, so each block has one of its own. Errors of `out` are for the caller to see.
Status write_snapshot(const analyzer::TraceData& data, std::ostream& out, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
