// Reads a trace through several connections in parallel: parts of the tables that grow with the run are jobs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A range of row ids, both ends included.
struct Stretch {
  std::int64_t first = 0, last = 0;
};

/// Ranges of similar length that together cover every possible id. A table whose smallest and largest ids are far apart
/// has many of them.
Expected<std::vector<Stretch>> stretches_of(Database& database, const std::string& table);

/// Independent jobs on one trace. Threads pick them up one after the other.
class LoadJobs {
 public:
  using Job = std::function<Status(Database&)>;

  void add(Job job) { jobs_.push_back({std::move(job), {}}); }

  /// Runs all jobs on `database` and on up to `helpers` further connections to its file, with one thread each. Fails
  /// like the first failed job in the order of add(); later jobs need not have run then. Stops between two jobs.
  Status run(Database& database, std::size_t helpers, const Watch& watch = {});

 private:
  struct Entry {
    Job job;
    Status done;
  };

  void work(Database& database, const Watch& watch);

  std::vector<Entry> jobs_;
  std::atomic<std::size_t> next_ = 0, done_ = 0;
  std::atomic<bool> failed_ = false;
};

}  // namespace dcmt::analyzer
