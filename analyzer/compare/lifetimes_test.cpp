#include "analyzer/compare/lifetimes.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// A training whose steps have two forwards and two backwards. Each forward makes 100 bytes for its backward and 10
/// that it drops itself; the first one of a step makes 1,000 bytes that are there for `kept` steps.
struct Schedule {
  bool one_after_the_other = true;  ///< forward, backward, forward, backward; else both forwards first
  std::size_t kept = 0;
  std::int64_t steps = 6;

  [[nodiscard]] std::vector<LifetimeFact> lives() const {
    TestTrace trace;
    trace.allocate(7);
    std::deque<Handle> kept_ones;
    for (std::int64_t step = 0; step < steps; ++step) {
      if (kept > 0) kept_ones.push_back(trace.allocate(1000));
      std::vector<Handle> saved;
      const auto forward = [&] {
        trace.phase("forward", [&] {
          saved.push_back(trace.allocate(100));
          trace.drop(trace.allocate(10));
        });
      };
      const auto backward = [&] {
        trace.phase("backward", [&] {
          trace.drop(saved.back());
          saved.pop_back();
        });
      };
      forward();
      if (one_after_the_other) backward();
      forward();
      backward();
      if (!one_after_the_other) backward();
      if (kept_ones.size() > kept) {
        trace.drop(kept_ones.front());
        kept_ones.pop_front();
      }
      trace.step(step);
    }
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    return lifetime_facts(analysis, analysis.main().device);
  }
};

const LifetimeDifference* bar_of(const LifetimeHistograms& histograms, std::string_view unit, std::int64_t least) {
  for (const LifetimeDifference& bar : histograms.bars) {
    if (bar.unit == unit && bar.least == least) return &bar;
  }
  return nullptr;
}

TEST(Lifetimes, ASchedulesBlocksAreCountedByThePhasesThatTheyOutlive) {
  const LifetimeHistograms histograms =
      histograms_of(Schedule().lives(), Schedule{.one_after_the_other = false}.lives(), 6);
  EXPECT_TRUE(histograms.differ());
  EXPECT_EQ(histograms.from_step, 1);
  EXPECT_EQ(histograms.steps, 5);
  const LifetimeDifference* within = bar_of(histograms, LifetimeDifference::kPhases, 0);
  ASSERT_NE(within, nullptr);
  EXPECT_EQ(within->before_blocks, 10);
  EXPECT_EQ(within->after, Bytes(100));
  const LifetimeDifference* next = bar_of(histograms, LifetimeDifference::kPhases, 1);
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->before_blocks, 10);
  EXPECT_EQ(next->after_blocks, 5);
  EXPECT_GT(next->before_lived->value, within->before_lived->value);
  const LifetimeDifference* later = bar_of(histograms, LifetimeDifference::kPhases, 2);
  ASSERT_NE(later, nullptr);
  EXPECT_EQ(later->most, 3);
  EXPECT_EQ(later->before_blocks, 0);
  EXPECT_FALSE(later->before_lived);
  EXPECT_EQ(later->after, Bytes(500));
}

TEST(Lifetimes, StepsThatBlocksOutlive) {
  const LifetimeHistograms histograms = histograms_of(Schedule().lives(), Schedule{.kept = 2}.lives(), 6);
  const LifetimeDifference* kept = bar_of(histograms, LifetimeDifference::kSteps, 2);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->after_blocks, 3);  // of the steps 1 to 3; those of the last two are still there
  const LifetimeDifference* alive = bar_of(histograms, LifetimeDifference::kAlive, 0);
  ASSERT_NE(alive, nullptr);
  EXPECT_EQ(alive->after_blocks, 2);
  EXPECT_FALSE(alive->after_lived);
}

TEST(Lifetimes, AnotherNumberOfStepsIsNoDifference) {
  EXPECT_FALSE(histograms_of(Schedule{.kept = 2}.lives(), Schedule{.kept = 2, .steps = 11}.lives(), 6).differ());
}

TEST(Lifetimes, ARunWithoutStepsIsOne) {
  TestTrace trace;
  trace.drop(trace.allocate(10));
  trace.allocate(20);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  const std::vector<LifetimeFact> lives = lifetime_facts(analysis, analysis.main().device);
  const LifetimeHistograms histograms = histograms_of(lives, {}, 0);
  EXPECT_EQ(histograms.from_step, 0);
  ASSERT_EQ(histograms.bars.size(), 2u);
  EXPECT_EQ(histograms.bars[0].before, Bytes(10));
  EXPECT_EQ(histograms.bars[1].unit, LifetimeDifference::kAlive);
  EXPECT_EQ(histograms.bars[1].before, Bytes(20));
}

}  // namespace
}  // namespace dcmt::analyzer
