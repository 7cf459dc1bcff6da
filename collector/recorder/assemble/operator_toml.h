// The tables of what gathers, waits, persists and releases: TOML for people, lines for the agent and for the analyzer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// A row that says what gathers or releases.
struct TableRow {
  std::string path;
  std::uint32_t line = 0;  ///< where it begins
  bool function = false;   ///< a Python function; else an operator
  std::string pattern;     ///< of the operator; of a function its qualified name
  std::string role;
};

struct OperatorTables {
  std::string agent;           ///< read by collector/torch/operator_table.h and collector/python/functions.h
  std::string origins;         ///< read by analyzer/storages/origins.h, through the trace
  unsigned functions = 0;      ///< rows of them in `agent`
  std::vector<TableRow> rows;  ///< of operators and functions, in order
  std::vector<std::string> waits_and_releases;  ///< their patterns, in the order of `agent`
};

/// Reads TOML tables in order; earlier rows win. An error names file, line and what is wrong. docs/operators.md
/// explains the fields of [[operator]], [[function]] and [[origin]].
Expected<OperatorTables> compile_operator_tables(const std::vector<std::string>& paths);

}  // namespace dcmt::recorder
