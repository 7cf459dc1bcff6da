// SQL queries of the user to a trace. The file is only read.
#pragma once

#include <string>
#include <vector>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::load {

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< in printed form
  bool more = false;                           ///< there are more rows than requested
};

/// Runs one statement that reads. Fails with kUsage for any other statement, with kBadInput for an error of SQLite or a
/// damaged trace, with kStopped if `watch` stops it, which is checked at each row.
Expected<QueryResult> run_query(const std::string& path, const std::string& sql, std::size_t most_rows,
                                const analyzer::Watch& watch);

}  // namespace dcmt::load
