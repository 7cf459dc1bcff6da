#include "analyzer/rules/unfollowed_growth.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// The sum of small blocks changes twice a step: it is `sum(step)` at its end, and more before.
TraceData steps_with(TestTrace& trace, int steps, const std::function<std::int64_t(int)>& sum) {
  std::string sums;
  std::optional<TestTrace::Handle> now;
  const auto changes_to = [&](std::int64_t bytes) {
    if (now) trace.drop(*now);
    now = trace.allocate(bytes);
    sums += (sums.empty() ? "" : ", ") + std::to_string(trace.storage_id(*now).value);
  };
  for (int step = 0; step < steps; ++step) {
    changes_to(sum(step) + 50'000);
    changes_to(sum(step));
    trace.step(step);
  }
  return trace.load(
      "INSERT INTO string(id, text) SELECT coalesce(max(id), 0) + 1, 'under 64 KiB, not followed' FROM string; "
      "UPDATE block SET owner = (SELECT max(id) FROM string) WHERE storage IN (" +
      sums + ")");
}

std::optional<Remark> unfollowed_remark(int steps, const std::function<std::int64_t(int)>& sum) {
  TestTrace trace;
  return unfollowed_growth(steps_with(trace, steps, sum));
}

TEST(UnfollowedGrowth, IsWhatTheirSumGrowsByInAStep) {
  TestTrace trace;
  const TraceData data = steps_with(trace, 60, [](int step) { return 20'000 + 16'384 * step; });
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  const Remark& remark = analysis.remarks.front();
  EXPECT_EQ(remark.kind, RemarkKind::kGrowsUnfollowed);
  EXPECT_EQ(remark.per_step, Bytes(16'384));
  EXPECT_TRUE(remark.text().starts_with("memory grows by 16.0 KiB a step in storages under 64.0 KiB"));
  EXPECT_NE(remark.text().find("dc-memtrace run --detail full"), std::string::npos);
}

TEST(UnfollowedGrowth, IsNoneOfWhatFillsUpOrComesAndGoes) {
  const auto is_silent = [](const std::function<std::int64_t(int)>& sum) { return !unfollowed_remark(60, sum); };
  EXPECT_TRUE(is_silent([](int) { return 900'000; }));
  EXPECT_TRUE(is_silent([](int step) { return 16'384 * std::min(step + 1, 30); })) << "a ring";
  EXPECT_TRUE(is_silent([](int step) { return 16'384 * (1 + step % 10); })) << "dropped now and then";
  EXPECT_TRUE(is_silent([](int step) { return 10'000 + (step < 5 ? 0 : 4'000'000); })) << "made once";
  EXPECT_TRUE(is_silent([](int step) { return 10'000 + 64 * step; })) << "a log of numbers";
  EXPECT_FALSE(unfollowed_remark(8, [](int step) { return 16'384 * (step + 1); })) << "too short";
}

}  // namespace
}  // namespace dcmt::analyzer
