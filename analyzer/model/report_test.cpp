#include "analyzer/model/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "analyzer/model/range.h"
#include "analyzer/testing/test_trace.h"
#include "trace/sql/trace_file.h"

namespace dcmt::model {
namespace {

using testing::TestTrace;

TEST(Range, ARowIsMadeWhenItIsRead) {
  std::vector<std::size_t> made;
  const Range<std::size_t> range(1'000'000, [&](std::size_t at) {
    made.push_back(at);
    return 2 * at;
  });
  EXPECT_EQ(range.size(), 1'000'000u);
  EXPECT_EQ(range[3], 6u);
  EXPECT_EQ(range.back(), 1'999'998u);
  EXPECT_EQ(made, (std::vector<std::size_t>{3, 999'999}));
}

/// Its path, address and times differ, and it says the same.
TEST(Report, WhatIsComparedOfARankEqualsThatOfARankThatSaysTheSame) {
  const auto comparable_of = [](std::int64_t rank, std::int64_t bytes) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.clock = [rank](std::int64_t seq) { return seq * (1000 + rank); };
    testing::add_zero3_graph(trace, 3, bytes, false);
    trace.step(1);
    const analyzer::TraceData data = trace.load();
    return report_of("out", analyzer::analyze(data)).comparable();
  };
  EXPECT_EQ(comparable_of(0, 1000), comparable_of(1, 1000));
  EXPECT_NE(comparable_of(0, 1000), comparable_of(0, 1001));
}

TEST(Analysis, WhoWaitsSeesHowFarItIsAndMayStopIt) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 3, 1000, false);
  Expected<Database> database = open_trace(trace.save());
  ASSERT_TRUE(database.ok());
  std::vector<double> shares;
  std::atomic<bool> stop = false;
  const analyzer::Watch watch{[&](double share) { shares.push_back(share); }, &stop};
  const auto data = analyzer::TraceData::load(*database, watch.part(0, 0.5));
  ASSERT_TRUE(data.ok());
  ASSERT_TRUE(analyzer::analyze(*data, watch.part(0.5, 1)).ok());
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_DOUBLE_EQ(shares.back(), 1);
  stop = true;
  EXPECT_EQ(analyzer::TraceData::load(*database, watch).error().code, ErrorCode::kStopped);
  EXPECT_EQ(analyzer::analyze(*data, watch).error().code, ErrorCode::kStopped);
}

}  // namespace
}  // namespace dcmt::model
