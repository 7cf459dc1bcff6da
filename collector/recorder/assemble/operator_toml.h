// The tables of gathers, waits, persists and releases: TOML for people, lines for the agent and the analyzer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// A row of a table.
struct TableRow {
  std::string path;
  std::uint32_t line = 0;  ///< line where it begins
  bool function = false;   ///< a Python function; false: an operator
  std::string pattern;     ///< of the operator, or the function's qualified name
  std::string role;
};

struct OperatorTables {
  std::string agent;           ///< read by operator_table.h (collector/torch) and function_table.h (collector/python)
  std::string origins;         ///< read by analyzer/storages/origins.h, through the trace
  unsigned functions = 0;      ///< number of rows for functions in `agent`
  std::vector<TableRow> rows;  ///< operators and functions, in order
  std::vector<std::string> waits_and_releases;  ///< patterns, in the order of `agent`
};

/// Reads TOML tables in order; earlier rows have priority. An error names the file, the line and the problem.
/// docs/operators.md explains the fields of [[operator]], [[function]] and [[origin]].
Expected<OperatorTables> compile_operator_tables(const std::vector<std::string>& paths);

}  // namespace dcmt::recorder
