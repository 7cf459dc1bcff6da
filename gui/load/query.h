// What a person asks of a trace in SQL. The file is only read.
#pragma once

#include <string>
#include <vector>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  ///< as they are printed
  bool more = false;                           ///< there are more than were asked for
};

/// One statement that reads. Fails with kUsage for another one, with kBadInput for what SQLite does not understand or
/// the trace does not have, with kStopped as `watch` says, which is asked at each row.
Expected<QueryResult> run_query(const std::string& path, const std::string& sql, std::size_t most_rows,
                                const analyzer::Watch& watch);

}  // namespace dcmt::gui::load
