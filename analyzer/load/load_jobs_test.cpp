#include "analyzer/load/load_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Database open(TestTrace& trace) {
  Expected<Database> database = Database::open(trace.save(), OpenMode::kReadWrite);
  EXPECT_TRUE(database.ok());
  return std::move(*database);
}

TEST(Stretches, HoldEveryIdOnce) {
  for (const std::int64_t last : {std::int64_t{1}, std::int64_t{20'000'000}, kMost / 2, kMost}) {
    TestTrace trace;
    Database database = open(trace);
    const std::string rows = "INSERT OR IGNORE INTO t VALUES(1), (" + std::to_string(last) + ")";
    ASSERT_TRUE(database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY);" + rows).ok());
    const Expected<std::vector<Stretch>> stretches = stretches_of(database, "t");
    ASSERT_TRUE(stretches.ok());
    ASSERT_FALSE(stretches->empty());
    EXPECT_LE(stretches->size(), 300u);
    EXPECT_EQ(stretches->size() == 1, last == 1);
    EXPECT_EQ(stretches->front().first, kLeast);
    EXPECT_EQ(stretches->back().last, kMost);
    for (std::size_t i = 1; i < stretches->size(); ++i) {
      EXPECT_EQ((*stretches)[i].first, (*stretches)[i - 1].last + 1);
    }
  }
}

TEST(Stretches, AnEmptyTableHasOne) {
  TestTrace trace;
  Database database = open(trace);
  const Expected<std::vector<Stretch>> stretches = stretches_of(database, "edge");
  ASSERT_TRUE(stretches.ok());
  EXPECT_EQ(stretches->size(), 1u);
}

TEST(LoadJobs, EveryJobIsDoneOnce) {
  TestTrace trace;
  Database database = open(trace);
  for (const std::size_t helpers : {0, 3}) {
    LoadJobs jobs;
    std::vector<std::atomic<int>> done(50);
    for (std::atomic<int>& times : done) {
      jobs.add([&times](Database& own) {
        ++times;
        return own.execute("SELECT count(*) FROM meta");
      });
    }
    EXPECT_TRUE(jobs.run(database, helpers).ok());
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(LoadJobs, TheFirstFailureIsReported) {
  TestTrace trace;
  Database database = open(trace);
  for (const std::size_t helpers : {0, 3}) {
    for (int round = 0; round < 20; ++round) {
      LoadJobs jobs;
      for (int i = 0; i < 30; ++i) {
        jobs.add([i](Database&) { return i < 10 ? Status() : Status(ErrorCode::kBadInput, std::to_string(i)); });
      }
      const Status status = jobs.run(database, helpers);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().message, "10");
    }
  }
}

TEST(LoadJobs, WhoWaitsSeesHowFarItIsAndMayStopIt) {
  TestTrace trace;
  Database database = open(trace);
  LoadJobs jobs;
  std::atomic<bool> stop = false;
  int done = 0;
  for (int i = 0; i < 10; ++i) {
    jobs.add([&](Database&) {
      stop = ++done == 4;
      return Status();
    });
  }
  std::vector<double> shares;
  const Status status = jobs.run(database, 0, {[&](double share) { shares.push_back(share); }, &stop});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kStopped);
  EXPECT_EQ(done, 4);
  EXPECT_EQ(shares, (std::vector{0.1, 0.2, 0.3, 0.4}));
}

}  // namespace
}  // namespace dcmt::analyzer
