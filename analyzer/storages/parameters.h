// Parameters by the names that people know.
#pragma once

#include <string>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What the trace knows of a key that a Python function gathers, nullptr for others.
[[nodiscard]] const Parameter* find_parameter(const TraceData& data, Key key);

/// "FSDP2", or of an operator's graph "graph 0".
[[nodiscard]] std::string describe_graph(const TraceData& data, std::int64_t graph);

/// "layers.3.weight (FSDP2)", "ZeRO-3 id 7", or of an operator's graph "graph 0 id 7".
[[nodiscard]] std::string describe_key(const TraceData& data, Key key);

}  // namespace dcmt::analyzer
