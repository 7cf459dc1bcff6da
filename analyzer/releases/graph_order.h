// Which graph of one run is which graph of another.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The graphs of the trace whose numbers are addresses, in the order in which the program first gathered from them.
[[nodiscard]] std::vector<std::int64_t> graphs_by_gather(const TraceData& data);

/// The name that a parameter of the run with the graphs `then` has in the run with the graphs `now`.
[[nodiscard]] Key key_in(Key key, const std::vector<std::int64_t>& then, const std::vector<std::int64_t>& now);

}  // namespace dcmt::analyzer
