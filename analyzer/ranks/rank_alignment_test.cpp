#include "analyzer/ranks/rank_alignment.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// `steps` steps of `collectives` collectives each.
void train(TestTrace& trace, std::int64_t rank, std::int64_t steps, std::int64_t collectives) {
  trace.meta_integers["rank"] = rank;
  for (std::int64_t step = 1; step <= steps; ++step) {
    for (std::int64_t i = 0; i < collectives; ++i) {
      trace.op("aten::mm");
      trace.op(i % 2 == 0 ? "c10d::allreduce_" : "c10d::allgather_");
    }
    trace.step(step);
  }
}

TEST(RankAlignment, RanksWithTheSameClockStayWhereTheyAre) {
  TestTrace zero, one;
  train(zero, 0, 3, 2);
  train(one, 1, 3, 2);
  const TraceData a = zero.load(), b = one.load();
  const auto clocks = align_ranks({rank_events(a), rank_events(b)});
  ASSERT_EQ(clocks.size(), 2u);
  EXPECT_EQ(clocks[0].by, AlignedBy::kItself);
  EXPECT_EQ(clocks[0].common(TimeNs(77)), TimeNs(77));
  EXPECT_EQ(clocks[1].rank, 1);
  EXPECT_EQ(clocks[1].by, AlignedBy::kEvents);
  EXPECT_EQ(clocks[1].steps, 3u);
  EXPECT_EQ(clocks[1].collectives, 6u);
  EXPECT_EQ(clocks[1].error_ns, 0);
  EXPECT_EQ(clocks[1].common(TimeNs(5000)), TimeNs(5000));
}

TEST(RankAlignment, AnotherZeroAndAnotherRateAreFollowed) {
  TestTrace zero, one;
  train(zero, 0, 40, 4);
  train(one, 1, 40, 4);
  // Half a second behind and 100 millionths too fast.
  const auto other = [](std::int64_t seq) { return 500'000'000 + seq * 1'000'100; };
  zero.clock = [](std::int64_t seq) { return seq * 1'000'000; };
  one.clock = other;
  const TraceData a = zero.load(), b = one.load();
  const RankClock clock = align_ranks({rank_events(a), rank_events(b)}).back();
  EXPECT_GT(clock.anchors.size(), 3u);
  EXPECT_LE(clock.error_ns, 10'000) << "an anchor stands in the middle of its events";
  for (const std::int64_t seq : {50, 200, 333}) {
    EXPECT_NEAR(static_cast<double>(clock.common(TimeNs(other(seq))).value), static_cast<double>(seq) * 1e6, 500);
  }
}

TEST(RankAlignment, ARankThatIsLateOnceMovesNothingButTheError) {
  TestTrace zero, one;
  train(zero, 0, 10, 0);
  train(one, 1, 10, 0);
  one.clock = [](std::int64_t seq) { return seq * 1000 + (seq == 4 ? 700 : 0); };  // less than one event
  const TraceData a = zero.load(), b = one.load();
  const RankClock clock = align_ranks({rank_events(a), rank_events(b)}).back();
  EXPECT_EQ(clock.steps, 10u);
  EXPECT_EQ(clock.error_ns, 700);
  EXPECT_EQ(clock.common(TimeNs(9000)), TimeNs(9000));
}

TEST(RankAlignment, CollectivesOfAStepThatDifferInNumberAreNotMatched) {
  TestTrace zero, one;
  train(zero, 0, 2, 2);
  train(one, 1, 1, 2);
  one.op("c10d::allreduce_");
  one.op("c10d::allreduce_");  // rank 0 has one of them and an allgather in its second step
  one.step(2);
  const TraceData a = zero.load(), b = one.load();
  const RankClock clock = align_ranks({rank_events(a), rank_events(b)}).back();
  EXPECT_EQ(clock.steps, 2u);
  EXPECT_EQ(clock.collectives, 2u);
}

TEST(RankAlignment, WithNothingInCommonTheWallClockPlacesRoughly) {
  TestTrace zero, one, two;
  zero.step(1);
  zero.meta_integers["real_offset_ns"] = 5000;
  one.meta_integers["real_offset_ns"] = 7000;  // the same wall clock is 2000 less on its monotonic clock
  const TraceData a = zero.load(), b = one.load(), c = two.load();
  const auto clocks = align_ranks({rank_events(a), rank_events(b), rank_events(c)});
  EXPECT_EQ(clocks[1].by, AlignedBy::kWallClock);
  EXPECT_EQ(clocks[1].common(TimeNs(100)), TimeNs(2100));
  EXPECT_EQ(clocks[2].by, AlignedBy::kNothing);
  EXPECT_EQ(clocks[2].common(TimeNs(100)), TimeNs(100));
  EXPECT_TRUE(align_ranks({}).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
