// The tables of gather, wait, persist and release operators: TOML for people, lines for the agent.
#pragma once

#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Reads TOML tables in order (earlier rows win) and returns the lines that collector/torch/operator_table.h reads.
/// An error names file, line and what is wrong. Format:
///   [[operator]]
///   pattern = "dc::release_param"   # namespace::name; * and ? match
///   role = "release"                # gather | wait | persist | release
///   graph = "graph_id"              # names of the operator's arguments; leave out what it does not have
///   key = "id"
///   count = "n_users"               # release only
///   tensor = "a"                    # gather, wait: the argument that carries the storage; default: the output
Expected<std::string> compile_operator_tables(const std::vector<std::string>& paths);

}  // namespace dcmt::recorder
