// Converts a trace to a memory snapshot of torch: a pickle that torch's memory_viz can open.
#pragma once

#include <iosfwd>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Devices are the trace's GPUs by number, then the CPU. The holder of a block is the first frame of its stack. A trace
/// has no segments, so each block gets its own. The caller must check `out` for errors.
Status write_snapshot(const analyzer::TraceData& data, std::ostream& out, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
