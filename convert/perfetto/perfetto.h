// A trace as JSON trace events, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <iosfwd>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// Counters of allocated and reserved bytes of each device, steps and phases as slices, lifetimes of blocks as async
/// slices. Times are microseconds since the start of the trace. Errors of `out` are for the caller to see.
Status write_perfetto(const analyzer::TraceData& data, Database& database, std::ostream& out,
                      const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
