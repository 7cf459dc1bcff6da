// Lifetimes and the curve as CSV (RFC 4180). The first line names the columns. An empty field means a missing value.
#pragma once

#include <iosfwd>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// One row for each block, in the order of their births. The caller must check `out` for errors. kStopped if `watch`
/// stops it.
Status write_lifetimes_csv(const analyzer::TraceData& data, std::ostream& out, const analyzer::Watch& watch = {});

/// One row for each change of a device's allocated bytes, device by device.
Status write_curve_csv(const analyzer::TraceData& data, std::ostream& out, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
