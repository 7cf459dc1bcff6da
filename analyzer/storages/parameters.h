// Names of parameters for people.
#pragma once

#include <string>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The parameter of a key that a Python function gathers; nullptr for other keys.
[[nodiscard]] const Parameter* find_parameter(const TraceData& data, Key key);

/// "FSDP2"; "graph 0" for a graph of operators.
[[nodiscard]] std::string describe_graph(const TraceData& data, std::int64_t graph);

/// "layers.3.weight (FSDP2)", "ZeRO-3 id 7"; "graph 0 id 7" for a graph of operators.
[[nodiscard]] std::string describe_key(const TraceData& data, Key key);

}  // namespace dcmt::analyzer
