#include "analyzer/devices/out_of_memory.h"

#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/time/timeline.h"
#include "trace/base/quantities.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::OomOf;
using testing::TestTrace;

/// A gathered parameter of 64 MiB that its release leaves alive.
TestTrace::Handle held(TestTrace& trace, std::int64_t key = 3) {
  const TestTrace::Handle handle = trace.allocate(64 * kMiB);
  trace.gather(key, handle);
  trace.release(key, handle);
  trace.op("aten::relu");
  return handle;
}

OomVerdict verdict_of(TestTrace& trace, const OomOf& figures) {
  trace.op("aten::empty", [&] { trace.out_of_memory(figures); });
  const TraceData data = trace.load();
  const Releases releases = analyze_releases(data);
  const std::vector<OomVerdict> verdicts = judge_out_of_memory(data, releases);
  EXPECT_EQ(verdicts.size(), 1u);
  OomVerdict verdict = verdicts.front();
  verdict.oom = nullptr;  // the data goes
  return verdict;
}

TEST(OutOfMemory, FitsWithoutWhatIsHeld) {
  TestTrace trace;
  held(trace);
  const OomVerdict verdict =
      verdict_of(trace, {.requested = 70 * kMiB, .allocated = 64 * kMiB, .reserved = 66 * kMiB, .free = 6 * kMiB});
  EXPECT_EQ(verdict.dead, Bytes(64 * kMiB));
  EXPECT_EQ(verdict.missing, Bytes(64 * kMiB));
  EXPECT_TRUE(verdict.fits_without_dead);
  EXPECT_EQ(verdict.cause, OomCause::kHeld);
}

TEST(OutOfMemory, TooLittleIsHeld) {
  TestTrace trace;
  held(trace);
  const OomVerdict verdict =
      verdict_of(trace, {.requested = 71 * kMiB, .allocated = 64 * kMiB, .reserved = 66 * kMiB, .free = 6 * kMiB});
  EXPECT_FALSE(verdict.fits_without_dead);
  EXPECT_EQ(verdict.cause, OomCause::kNeeded);
}

TEST(OutOfMemory, WhatTheProcessMayNotUseDoesNotCount) {
  TestTrace trace;
  const OomVerdict verdict = verdict_of(
      trace, {.requested = 70 * kMiB, .allocated = 0, .reserved = 0, .free = 1000 * kMiB, .total = 2000 * kMiB});
  EXPECT_EQ(verdict.missing, Bytes(70 * kMiB));
  EXPECT_EQ(verdict.cause, OomCause::kLimited);
}

TEST(OutOfMemory, ScatteredBytes) {
  TestTrace trace;
  const OomVerdict verdict =
      verdict_of(trace, {.requested = 70 * kMiB, .allocated = 10 * kMiB, .reserved = 80 * kMiB, .free = 0});
  EXPECT_EQ(verdict.cause, OomCause::kFragmented);
}

TEST(OutOfMemory, TheCpuHasNoCountOfItsOwn) {
  TestTrace trace;
  held(trace);
  trace.allocate(kMiB);
  const OomVerdict verdict = verdict_of(trace, {.requested = 70 * kMiB});
  EXPECT_EQ(verdict.allocated, Bytes(65 * kMiB));
  EXPECT_EQ(verdict.dead, Bytes(64 * kMiB));
}

TEST(OutOfMemory, AProgramThatCatchesItGoesOn) {
  for (const bool goes_on : {false, true}) {
    TestTrace trace;
    trace.meta_texts["exit"] = "exit 1";
    trace.op("aten::empty", [&] { trace.out_of_memory({.requested = 1}); });
    if (goes_on) trace.op("aten::empty");
    const TraceData data = trace.load();
    EXPECT_EQ(judge_out_of_memory(data, analyze_releases(data)).front().went_on, goes_on);
  }
  TestTrace trace;
  trace.out_of_memory({.requested = 1});
  const TraceData data = trace.load();
  EXPECT_TRUE(judge_out_of_memory(data, analyze_releases(data)).front().went_on) << "exit 0";
}

TEST(OutOfMemory, WithoutOperatorsWhatIsAllocatedShowsThatItGoesOn) {
  for (const bool goes_on : {false, true}) {
    TestTrace trace;
    trace.meta_texts["exit"] = "exit 1";
    trace.meta_texts["detail"] = "lifetimes";
    const TestTrace::Handle before = trace.allocate(kMiB);
    trace.out_of_memory({.requested = 100 * kMiB});
    trace.drop(before);  // on the error's way out
    if (goes_on) trace.allocate(kMiB);
    const TraceData data = trace.load();
    EXPECT_EQ(judge_out_of_memory(data, analyze_releases(data)).front().went_on, goes_on);
  }
}

TEST(OutOfMemory, AlikeErrorsAreOneFindingAndComeFirst) {
  TestTrace trace;
  held(trace, 3);
  held(trace, 4);
  trace.stack = {{"/home/user/train.py", "fill", 30}};
  for (int i = 0; i < 3; ++i) trace.op("aten::empty", [&] { trace.out_of_memory({.requested = 100 * kMiB}); });
  trace.stack = {{"/home/user/train.py", "other", 40}};
  trace.op("aten::empty", [&] { trace.out_of_memory({.requested = 1000 * kMiB}); });
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 3u);
  const Finding& first = analysis.findings[0];
  EXPECT_EQ(first.rule, "out_of_memory");
  EXPECT_EQ(first.title, "out of memory");
  EXPECT_FALSE(first.why.empty());
  EXPECT_FALSE(first.fix.empty());
  EXPECT_EQ(first.out_of_memory.size(), 3u);
  EXPECT_EQ(first.items.size(), 2u) << "the releases whose storages were held";
  EXPECT_EQ(first.bytes, Bytes(128 * kMiB));
  EXPECT_EQ(first.dead_at_peak, Bytes(0)) << "counted by the finding of those releases";
  EXPECT_EQ(first.identity.born, "aten::empty in fill (train.py)");
  EXPECT_EQ(analysis.findings[1].rule, "out_of_memory");
  EXPECT_EQ(analysis.findings[1].out_of_memory.front().cause, OomCause::kNeeded);
  EXPECT_EQ(analysis.findings[2].rule, "residual");
}

TEST(OutOfMemory, IsAPointOfTheRun) {
  TestTrace trace;
  trace.user_mark("oom");
  const auto first = trace.out_of_memory({.requested = 1});
  trace.allocate(64);
  const auto second = trace.out_of_memory({.requested = 1});
  const TraceData data = trace.load();
  EXPECT_EQ(find_point(data, "oom", {}), Sequence(first));
  EXPECT_EQ(find_point(data, "oom#2", {}), Sequence(second));
  EXPECT_FALSE(find_point(data, "oom#3", {}));
  EXPECT_FALSE(find_point(data, "oom#0", {}));
  EXPECT_NE(find_point(data, "mark:oom", {}), find_point(data, "oom", {})) << "the mark of that name";
  EXPECT_EQ(out_of_memory_at(data, Sequence(second)), &data.out_of_memory[1]);
  EXPECT_EQ(out_of_memory_at(data, Sequence(second - 1)), nullptr);
}

TEST(OutOfMemory, ATraceOfSchemaOneHasNone) {
  TestTrace trace;
  trace.allocate(64);
  const std::string path = trace.save();
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok() && database->execute("DROP TABLE oom; PRAGMA user_version = 1").ok());
  }
  Expected<Database> database = open_trace(path);
  ASSERT_TRUE(database.ok());
  const Expected<TraceData> data = TraceData::load(*database);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_TRUE(data->out_of_memory.empty());
  EXPECT_FALSE(find_point(*data, "oom", {}));
}

}  // namespace
}  // namespace dcmt::analyzer
