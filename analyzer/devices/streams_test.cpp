#include "analyzer/devices/streams.h"

#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/testing/gpu_trace.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using testing::GpuTrace;
using testing::loaded_trace;
using testing::TestTrace;

void change(const std::string& path, const std::string& sql) {
  Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
  ASSERT_TRUE(database.ok());
  const Status status = database->execute(sql);
  ASSERT_TRUE(status.ok()) << status.error().message;
}

/// A gathered buffer is dropped while a stream still uses it, and the next one is allocated beside it.
void gathers(GpuTrace& trace, std::int64_t bytes, bool in_time, std::int64_t others = 0) {
  const auto first = trace.at(12, 0, bytes);
  trace.at(13, 1, others);
  trace.drop_in_use(first);
  if (in_time) trace.done(first);
  trace.at(14, 0, bytes);
  if (!in_time) trace.done(first);
  trace.allocator_peaks((in_time ? 1 : 2) * bytes + others, 2 * bytes + others);
}

TEST(AwaitsStream, WhatStoodInTheWayAtThePeakIsFound) {
  GpuTrace trace;
  gathers(trace, 8 * kMiB, false, 4 * kMiB);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const Finding& finding = analysis.findings.front();
  EXPECT_EQ(finding.rule, "awaits_stream");
  EXPECT_EQ(finding.title, "freed, waits for a stream");
  EXPECT_FALSE(finding.why.empty());
  EXPECT_FALSE(finding.fix.empty());
  EXPECT_EQ(finding.classes, (std::vector<std::string>{"D08"}));
  EXPECT_EQ(finding.bytes, Bytes(8 * kMiB));
  ASSERT_TRUE(finding.waits);
  const WaitsAtPeak& waits = *finding.waits;
  EXPECT_EQ(waits.device, "cuda:0");
  EXPECT_EQ(waits.active, Bytes(20 * kMiB));
  EXPECT_EQ(waits.run_active, Bytes(20 * kMiB));
  EXPECT_EQ(waits.without_waits, Bytes(12 * kMiB));
  EXPECT_EQ(waits.most_waiting, Bytes(8 * kMiB));
  EXPECT_EQ(waits.at.seq, Sequence(7)) << "the third block: each is two events, as a drop is";
  EXPECT_EQ(waits.blocks, 1);
  EXPECT_EQ(waits.longest, TimeNs(3'000)) << "freed at 6, done at 9";
  EXPECT_EQ(waits.frees, 1);
  EXPECT_EQ(waits.frees_that_waited, 1);
  ASSERT_EQ(waits.sites.size(), 1u);
  EXPECT_EQ(waits.sites[0].site, "user/train.py:12 main");
  EXPECT_EQ(waits.sites[0].stream, 0);
  EXPECT_EQ(waits.sites[0].largest_block, BlockId(1));
  EXPECT_DOUBLE_EQ(finding.byte_seconds, 8.0 * kMiB * 3e-6);
}

TEST(AwaitsStream, WhatIsThroughBeforeTheNextIsAllocatedIsFine) {
  GpuTrace trace;
  gathers(trace, 8 * kMiB, true, 4 * kMiB);
  EXPECT_TRUE(analyze(trace.load()).findings.empty());
}

TEST(AwaitsStream, WhatIsDoneWhereItsAddressIsHandedOutAgainDoesNotCountTwice) {
  GpuTrace trace;
  gathers(trace, 8 * kMiB, false);
  const std::string path = trace.save();
  // Done at the event of the third block.
  change(path, "UPDATE block SET wait_seq_length = 1 WHERE id = 1");
  const TraceData data = loaded_trace(path);
  ASSERT_EQ(data.stream_waits.front().done, Sequence(7));
  EXPECT_TRUE(analyze(data).findings.empty());
}

TEST(AwaitsStream, LittleIsNoFinding) {
  for (const auto& [bytes, others, found] : {std::tuple(kMiB - 1, std::int64_t{0}, false),
                                             {kMiB, std::int64_t{0}, true},
                                             {kMiB, 97 * kMiB, true},
                                             {kMiB, 99 * kMiB, false}}) {
    GpuTrace trace;
    gathers(trace, bytes, false, others);
    EXPECT_EQ(analyze(trace.load()).findings.size(), found ? 1u : 0u) << bytes << " beside " << others;
  }
}

TEST(AwaitsStream, TheStepOfThePeakIsNamed) {
  GpuTrace trace;
  trace.step(1);
  gathers(trace, 8 * kMiB, false, 0);
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].waits->step, 2);
}

TEST(AwaitsStream, PlacesAndStreamsOfTheAllocationAreApart) {
  GpuTrace trace;
  std::vector<TestTrace::Handle> freed;
  for (const auto& [line, stream, bytes] : {std::tuple(12, 0, 2), {12, 0, 4}, {12, 0, 6}, {12, 1, 8}, {30, 1, 1}}) {
    freed.push_back(trace.at(line, stream, bytes * kMiB));
  }
  for (const auto handle : freed) trace.drop_in_use(handle);  // the storage and the block: at 12, 14, 16, 18, 20
  trace.at(40, 0, 32 * kMiB);                                 // 21, 22
  for (const auto handle : {freed[1], freed[3], freed[0]}) trace.done(handle);
  trace.allocator_peaks(53 * kMiB, 53 * kMiB);
  const TraceData data = trace.load();  // to 25: where what is not done is said to have waited until
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const WaitsAtPeak& waits = *analysis.findings[0].waits;
  EXPECT_EQ(waits.waiting, Bytes(21 * kMiB));
  EXPECT_EQ(waits.blocks, 5);
  EXPECT_EQ(waits.longest, TimeNs(13'000)) << "12 to 25";
  EXPECT_EQ(waits.median, TimeNs(9'000)) << "of 13, 9, 9, 6 and 5";
  ASSERT_EQ(waits.sites.size(), 3u);
  EXPECT_EQ(waits.sites[0].bytes, Bytes(12 * kMiB));
  EXPECT_EQ(waits.sites[0].blocks, 3);
  EXPECT_EQ(waits.sites[0].median, TimeNs(9'000)) << "of 13, 9 and 9";
  EXPECT_EQ(waits.sites[0].largest_block, BlockId(3));
  EXPECT_EQ(waits.sites[1].bytes, Bytes(8 * kMiB));
  EXPECT_EQ(waits.sites[1].stream, 1);
  EXPECT_EQ(waits.sites[1].site, waits.sites[0].site);
  EXPECT_EQ(waits.sites[2].bytes, Bytes(kMiB));
}

TEST(AwaitsStream, OnlyWindowsAreJudged) {
  for (const bool inside : {false, true}) {
    GpuTrace trace;
    const auto first = trace.at(12, 0, 8 * kMiB);
    trace.kept_interval(1, Kept::kAll);
    trace.drop_in_use(first);
    trace.sums_only_interval(2, 6, 0, 0, 0);
    if (!inside) trace.done(first);
    trace.at(14, 0, 8 * kMiB);
    if (inside) trace.done(first);
    trace.kept_interval(3, Kept::kLast);
    trace.allocator_peaks(90 * kMiB, 90 * kMiB);
    const Analysis analysis = analyze(trace.load());
    ASSERT_EQ(analysis.findings.size(), inside ? 1u : 0u);
    if (!inside) continue;
    EXPECT_EQ(analysis.findings[0].waits->active, Bytes(16 * kMiB));
    EXPECT_EQ(analysis.findings[0].waits->run_active, Bytes(90 * kMiB));
  }
}

TEST(AwaitsStream, TracesWithoutTheFactsHaveNoFinding) {
  GpuTrace trace;
  gathers(trace, 8 * kMiB, false);
  const std::string path = trace.save();
  ASSERT_EQ(analyze(loaded_trace(path)).findings.size(), 1u);
  change(path,
         "ALTER TABLE block DROP COLUMN done_seq; ALTER TABLE block DROP COLUMN done_ns;"
         "ALTER TABLE block DROP COLUMN wait_seq_length; ALTER TABLE block DROP COLUMN wait_ns_length;"
         "PRAGMA user_version = 2");
  EXPECT_TRUE(analyze(loaded_trace(path)).findings.empty()) << "schema 2";
  trace.save();
  change(path, "UPDATE interval_curve SET active_peak_bytes = NULL");
  const TraceData lifetimes = loaded_trace(path);
  EXPECT_TRUE(lifetimes.stream_waits.empty());
  EXPECT_EQ(lifetimes.blocks.begin()->stream, kNoStream);
  EXPECT_TRUE(analyze(lifetimes).findings.empty()) << "detail lifetimes";
}

}  // namespace
}  // namespace dcmt::analyzer
