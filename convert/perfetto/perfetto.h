// A trace as JSON trace events for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <iosfwd>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// Writes counters of allocated and reserved bytes for each device, steps and phases as slices, and lifetimes of blocks
/// as async slices. Times are microseconds since the start of the trace. The caller must check `out` for errors.
Status write_perfetto(const analyzer::TraceData& data, Database& database, std::ostream& out,
                      const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
