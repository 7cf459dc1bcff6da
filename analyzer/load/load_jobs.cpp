#include "analyzer/load/load_jobs.h"

#include <algorithm>
#include <future>
#include <limits>

namespace dcmt::analyzer {
namespace {

/// The least number of ids in a stretch. Each part of a column ends in a partly filled chunk, so parts should be large.
constexpr std::int64_t kFewestIds = std::int64_t{1} << 21;
/// Enough stretches that the last job of a long trace does not keep the other threads waiting.
constexpr std::int64_t kMostStretches = 256;

}  // namespace

Expected<std::vector<Stretch>> stretches_of(Database& database, const std::string& table) {
  DCMT_ASSIGN_OR_RETURN(Statement ends, database.prepare("SELECT (SELECT min(id) FROM " + table +
                                                         "), (SELECT max(id) FROM " + table + ")"));
  DCMT_RETURN_IF_ERROR(ends.step().status());
  // The ids of a damaged trace may be anything.
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max() / 2;
  const std::int64_t first = std::clamp<std::int64_t>(ends.integer(0), 0, kLargest);
  const std::int64_t last = std::clamp<std::int64_t>(ends.integer(1), 0, kLargest);
  const std::int64_t ids = std::max(kFewestIds, (last - first) / kMostStretches + 1);
  std::vector<Stretch> stretches{{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}};
  for (std::int64_t at = first + ids; at <= last; at += ids) {
    stretches.back().last = at - 1;
    stretches.push_back({at, std::numeric_limits<std::int64_t>::max()});
  }
  return stretches;
}

Status LoadJobs::run(Database& database, std::size_t helpers, const Watch& watch) {
  const Watch silent{{}, watch.stop};
  std::vector<std::future<void>> helping;
  while (helping.size() < helpers && helping.size() + 1 < jobs_.size()) {
    helping.push_back(std::async(std::launch::async, [&] {
      // A thread without a connection does no jobs.
      if (Expected<Database> own = Database::open(database.path(), OpenMode::kRead); own.ok()) work(*own, silent);
    }));
  }
  work(database, watch);
  for (const std::future<void>& helper : helping) helper.wait();
  for (const Entry& entry : jobs_) DCMT_RETURN_IF_ERROR(entry.done);
  return watch.check();
}

void LoadJobs::work(Database& database, const Watch& watch) {
  // A job that was begun is finished, and jobs are begun in order: so all jobs before a failed one were done.
  while (!failed_ && !watch.stopped()) {
    const std::size_t number = next_++;
    if (number >= jobs_.size()) return;
    jobs_[number].done = jobs_[number].job(database);
    if (!jobs_[number].done.ok()) failed_ = true;
    watch.done(static_cast<double>(++done_) / static_cast<double>(jobs_.size()));
  }
}

}  // namespace dcmt::analyzer
