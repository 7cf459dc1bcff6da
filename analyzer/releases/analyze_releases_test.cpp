#include "analyzer/releases/analyze_releases.h"

#include <gtest/gtest.h>

#include "analyzer/releases/storage_story.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

TEST(Releases, FreedWhenTheReleaseResizes) {
  TestTrace trace;
  const auto a = trace.gathered(3);
  trace.release(3, a, {}, [&] { trace.resize_to_zero(a); });
  trace.op("aten::add");
  trace.drop(a);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.rows.size(), 1u);
  const ReleaseRow& row = releases.rows.front();
  EXPECT_EQ(row.verdict, Verdict::kFreed);
  EXPECT_FALSE(row.residual);
  ASSERT_TRUE(row.gone);
  EXPECT_EQ(row.gone->by(), GoneBy::kBlockFree);
  EXPECT_LE(row.gone->seq(), row.at());
  ASSERT_NE(row.gather, nullptr);
  EXPECT_EQ(row.key(), (Key{0, 3}));

  const auto story = storage_story(data, releases, trace.storage_id(a));
  ASSERT_TRUE(story);
  EXPECT_EQ(story->ended_by, EndedBy::kRelease);
}

TEST(Releases, FreedWhenTheLastReferenceGoesBeforeTheNextOperator) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a);
  trace.drop(a);
  trace.op("aten::add");
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows.front().verdict, Verdict::kFreed);
  EXPECT_FALSE(releases.rows.front().residual);
}

TEST(Releases, FreedWhenNoOperatorFollowsAndItGoes) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a);
  trace.drop(a);
  const TraceData data = trace.load();
  EXPECT_EQ(analyze_releases(data).rows.front().verdict, Verdict::kFreed);
}

TEST(Releases, LateWithinTheStepCountsItsOperators) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a, {.flags = "final,metadata_only"});
  for (int i = 0; i < 5; ++i) trace.op("aten::add");
  trace.stack = {{"/home/user/train.py", "main", 12}};
  trace.drop(a);
  trace.op("aten::add");
  trace.step(1);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  const ReleaseRow& row = releases.rows.front();
  EXPECT_EQ(row.verdict, Verdict::kLate);
  EXPECT_TRUE(row.residual);
  EXPECT_TRUE(row.metadata_only);
  EXPECT_TRUE(row.operators_held.exact());
  EXPECT_EQ(row.operators_held.at_least, 5);
  EXPECT_EQ(row.operators_held.in_trace, 5);
  ASSERT_NE(row.step, nullptr);
  EXPECT_EQ(row.step->number, 1);

  const auto story = storage_story(data, releases, trace.storage_id(a));
  ASSERT_TRUE(story);
  EXPECT_EQ(story->ended_by, EndedBy::kLastReference);
  ASSERT_NE(story->final_release, nullptr);
  EXPECT_GT(story->gone->seq(), story->final_release->at());
}

TEST(Releases, OperatorsInsideTheReleaseAreNotCountedAsHeld) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a, {}, [&] { trace.op("aten::set_"); });
  trace.op("aten::add");
  trace.op("aten::add");
  trace.drop(a);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_TRUE(releases.rows.front().operators_held.exact());
  EXPECT_EQ(releases.rows.front().operators_held.at_least, 2);
}

TEST(Releases, NeverWhenItOutlivesTheStep) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a);
  trace.op("aten::add");
  trace.step(1);
  trace.drop(a);
  trace.step(2);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows.front().verdict, Verdict::kNever);
  EXPECT_TRUE(releases.rows.front().residual);
}

TEST(Releases, NeverWithoutStepsMeansToTheEndOfTheTrace) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  const auto b = trace.gathered(1);
  trace.release(0, a);
  trace.release(1, b);
  trace.op("aten::add");
  trace.drop(b);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kNever);
  EXPECT_FALSE(releases.rows[0].gone);
  EXPECT_EQ(releases.rows[0].operators_held.at_least, 2) << "the other release, and the addition";
  EXPECT_TRUE(releases.rows[0].operators_held.exact()) << "all operators to the end are rows of the trace";
  EXPECT_EQ(releases.rows[1].verdict, Verdict::kLate);
}

TEST(Releases, EarlyWhenReadBeforeTheNextGatherButNotAfterIt) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  const auto first = trace.release(0, a, {}, [&] { trace.resize_to_zero(a); });
  trace.op("aten::mm", [&] { trace.read(first, 0, a, "aten::mm"); });
  const auto b = trace.gathered(1);
  const auto second = trace.release(1, b, {}, [&] { trace.resize_to_zero(b); });
  trace.op("zero3::allgather_param", [&] { trace.gather(1, b); });
  trace.op("aten::mm", [&] { trace.read(second, 1, b, "aten::mm"); });
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kEarly);
  EXPECT_EQ(releases.rows[0].reads().size(), 1u);
  EXPECT_EQ(releases.rows[1].verdict, Verdict::kFreed);
  EXPECT_TRUE(releases.rows[1].reads().empty());
}

TEST(Releases, TheLastTouchIsThatOfTheRelease) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a, {}, [&] { trace.last_touch(0, a, "gemm", 3); });
  trace.op("zero3::allgather_param", [&] { trace.gather(0, a); });
  trace.release(0, a);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.rows.size(), 2u);
  ASSERT_NE(releases.rows[0].last_touch(), nullptr);
  EXPECT_EQ(data.text(releases.rows[0].last_touch()->name), "gemm");
  EXPECT_EQ(releases.rows[0].last_touch()->value, 3);
  EXPECT_EQ(releases.rows[1].last_touch(), nullptr);
}

TEST(Releases, AReadInsideTheNextGatherIsTheGathersOwn) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  const auto release = trace.release(0, a, {}, [&] { trace.resize_to_zero(a); });
  trace.op("zero3::allgather_param", [&] {
    trace.op("aten::copy_", [&] { trace.read(release, 0, a, "aten::copy_"); });
    trace.gather(0, a);
  });
  const TraceData data = trace.load();
  EXPECT_EQ(analyze_releases(data).rows.front().verdict, Verdict::kFreed);
}

TEST(Releases, CountdownPersistentAndGatherlessAreRowsOfTheirOwn) {
  TestTrace trace;
  const auto a = trace.gathered(0);
  trace.release(0, a, {.declared = 2, .remaining = 1, .flags = ""});
  trace.release(0, a, {.declared = 3, .remaining = 0, .flags = "final,mismatch"}, [&] { trace.resize_to_zero(a); });
  const auto b = trace.gathered(1);
  trace.persist(1);
  trace.release(1, b, {.flags = "final,persistent"});
  trace.release(2, std::nullopt, {.flags = "final,no_gather"});
  trace.op("aten::add");
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.rows.size(), 4u);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kCounted);
  EXPECT_EQ(releases.rows[1].verdict, Verdict::kFreed);
  EXPECT_TRUE(releases.rows[1].mark->flags.mismatch);
  EXPECT_EQ(releases.rows[2].verdict, Verdict::kPersistent);
  EXPECT_FALSE(releases.rows[2].residual);
  EXPECT_EQ(releases.rows[3].verdict, Verdict::kNoGather);

  ASSERT_EQ(releases.cycles.size(), 2u);
  ASSERT_EQ(releases.cycles[0].releases.size(), 2u);
  EXPECT_EQ(releases.cycles[0].releases[0]->mark->remaining, 1);
  EXPECT_EQ(releases.cycles[0].releases[1]->mark->remaining, 0);
  EXPECT_FALSE(releases.cycles[0].persistent);
  EXPECT_TRUE(releases.cycles[1].persistent);
}

TEST(Releases, PersistenceLastsFromWhereItIsGiven) {
  TestTrace trace;
  for (int round = 0; round < 3; ++round) {
    const auto a = trace.gathered(7);
    if (round == 1) trace.persist(7);
    trace.release(7, a, {}, [&] { trace.resize_to_zero(a); });
    trace.drop(a);
  }
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.cycles.size(), 3u);
  EXPECT_FALSE(releases.cycles[0].persistent);
  EXPECT_TRUE(releases.cycles[1].persistent);
  EXPECT_TRUE(releases.cycles[2].persistent);
}

TEST(Releases, CyclesOfAKeyEndAtItsNextGather) {
  TestTrace trace;
  for (int round = 0; round < 3; ++round) {
    const auto a = trace.gathered(7);
    trace.wait(7, a);
    trace.release(7, a, {}, [&] { trace.resize_to_zero(a); });
    trace.drop(a);
  }
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  ASSERT_EQ(releases.cycles.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(releases.cycles[i].number, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(releases.cycles[i].waits.size(), 1u);
    ASSERT_EQ(releases.cycles[i].releases.size(), 1u);
    EXPECT_EQ(releases.cycles[i].releases.front()->gather, releases.cycles[i].gather);
  }
}

}  // namespace
}  // namespace dcmt::analyzer
