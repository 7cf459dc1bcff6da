// Reading a trace through several connections at a time: parts of the tables that grow with the run, as jobs.
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

/// Rows by their ids, both ends included.
struct Stretch {
  std::int64_t first = 0, last = 0;
};

/// Stretches of similar length that together hold every id there can be; many if there are many between the least and
/// the largest id of the table.
Expected<std::vector<Stretch>> stretches_of(Database& database, const std::string& table);

/// Jobs on one trace, independent of each other, that threads take in turns.
class LoadJobs {
 public:
  using Job = std::function<Status(Database&)>;

  void add(Job job) { jobs_.push_back({std::move(job), {}}); }

  /// Does all jobs on `database` and on up to `helpers` further connections to its file, each with a thread. Fails as
  /// the first of the jobs that failed, in the order of add(), did; those after it need not be done then. Stops between
  /// two jobs.
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
