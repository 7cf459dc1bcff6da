#include "analyzer/releases/reuse.h"

#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// One turn of a key on a buffer: gathered, used, released without a free.
std::int64_t turn(TestTrace& trace, std::int64_t key, Handle buffer) {
  trace.op("zero3::allgather_param", [&] { trace.gather(key, buffer); });
  trace.op("aten::mm");
  const std::int64_t release = trace.release(key, buffer);
  trace.op("aten::add");
  return release;
}

TEST(Reuse, BuffersThatGoFromGatherToGatherAreAPool) {
  TestTrace trace;
  const Handle buffers[] = {trace.allocate(1000), trace.allocate(1000)};
  for (int i = 0; i < 7; ++i) turn(trace, i % 3, buffers[i % 2]);
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  for (const ReleaseRow& row : analysis.releases.rows) {
    EXPECT_EQ(row.verdict, Verdict::kRecycled);
    EXPECT_FALSE(row.residual);
  }
  EXPECT_TRUE(analysis.findings.empty());
  EXPECT_EQ(analysis.main().what_if.dead_at_peak, Bytes(0));
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].kind, RemarkKind::kPool);
  EXPECT_EQ(analysis.remarks[0].count, 2);
  EXPECT_EQ(analysis.remarks[0].bytes, Bytes(2000));
  EXPECT_EQ(analysis.remarks[0].releases, 7);
}

TEST(Reuse, ABufferThatAPoolReplacesIsALeak) {
  TestTrace trace;
  Handle buffers[] = {trace.allocate(1000), trace.allocate(1000)};
  const Handle leaked = buffers[0];
  for (int i = 0; i < 9; ++i) {
    if (i == 4) buffers[0] = trace.allocate(1000);  // somebody kept the first one
    turn(trace, i % 3, buffers[i % 2]);
  }
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].rule, "residual");
  ASSERT_EQ(analysis.findings[0].items.size(), 1u);
  EXPECT_EQ(analysis.findings[0].items[0].storage, trace.storage_id(leaked));
}

TEST(Reuse, BuffersThatNobodyGathersAgainAreNoPool) {
  TestTrace trace;
  for (int i = 0; i < 3; ++i) turn(trace, i, trace.allocate(1000));
  trace.step(1);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  for (const ReleaseRow& row : releases.rows) EXPECT_EQ(row.verdict, Verdict::kNever);
  EXPECT_TRUE(releases.pools.empty());
}

TEST(Reuse, WhatIsOverwrittenAndReadIsRecycledAndItsReadsAreOfOtherData) {
  TestTrace trace;
  const Handle buffer = trace.allocate(1000);
  const std::int64_t release = turn(trace, 1, buffer);
  trace.op("aten::copy_", [&] { trace.overwrite(release, 1, buffer, "aten::copy_"); });
  trace.op("aten::mm", [&] { trace.read(release, 1, buffer, "aten::mm"); });
  trace.step(1);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kRecycled);
  EXPECT_TRUE(releases.rows[0].reads().empty());
}

TEST(Reuse, WhatIsOverwrittenAndLeftAloneIsStillKept) {
  TestTrace trace;
  const Handle buffer = trace.allocate(1000);
  const std::int64_t release = turn(trace, 1, buffer);
  trace.op("aten::fill_", [&] { trace.overwrite(release, 1, buffer, "aten::fill_"); });
  trace.step(1);
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  EXPECT_EQ(releases.rows[0].verdict, Verdict::kNever);
  EXPECT_TRUE(releases.rows[0].residual);
}

TEST(Reuse, LostRecordsMayHideAnEndOrAGather) {
  for (const bool lost : {false, true}) {
    TestTrace trace;
    turn(trace, 1, trace.allocate(1000));
    if (lost) trace.lose();
    trace.op("aten::add");
    trace.step(1);
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    EXPECT_EQ(analysis.releases.rows[0].verdict, lost ? Verdict::kUnknown : Verdict::kNever);
    EXPECT_EQ(analysis.findings.size(), lost ? 0u : 1u);
    EXPECT_EQ(analysis.remarks.size(), lost ? 1u : 0u);
  }
}

TEST(Reuse, AnUntrackedStorageIsNeitherFreedNorHeld) {
  TestTrace trace;
  trace.op("zero3::allgather_param", [&] { trace.gather(1, trace.allocate(1000)); });
  trace.release(1, std::nullopt, {.flags = "final,untracked"});
  trace.op("aten::add");
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_EQ(analysis.releases.rows[0].verdict, Verdict::kUntracked);
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].kind, RemarkKind::kUntracked);
}

TEST(Reuse, WithoutANextActivityWhatOthersAllocateShowsWhatWasLate) {
  TestTrace trace;
  const Handle weight = trace.allocate(1 << 20);
  trace.op("zero3::allgather_param", [&] { trace.gather(1, weight); });
  trace.release(1, weight);
  trace.allocate(80 << 20);
  trace.drop(weight);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_EQ(analysis.releases.rows[0].verdict, Verdict::kLate);
  EXPECT_EQ(analysis.main().what_if.dead_at_peak, Bytes(1 << 20));
}

}  // namespace
}  // namespace dcmt::analyzer
