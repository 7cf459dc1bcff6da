#include "analyzer/releases/late.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "analyzer/model/analysis.h"
#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

class LateTest : public ::testing::Test {
 protected:
  LateTest() { begin(); }

  void begin() {
    trace_ = std::make_unique<TestTrace>();
    trace_->clock = [](std::int64_t seq) { return seq * 1'000'000; };
    elsewhere_.clear();
  }

  Handle gathered(std::int64_t key) {
    Handle handle = 0;
    trace_->op("zero3::allgather_param", [&] {
      handle = trace_->allocate(100);
      trace_->gather(key, handle);
    });
    return handle;
  }

  /// A thread of gloo frees it.
  void drop_elsewhere(Handle handle) {
    trace_->drop(handle);
    elsewhere_ += ", " + std::to_string(trace_->storage_id(handle).value);
  }

  /// A step whose peak is `high` bytes, with a release in it that another thread makes late: before the peak is over,
  /// if it raises it.
  void step(std::int64_t number, bool raises, std::int64_t high = 1000) {
    const Handle weight = gathered(0);
    trace_->release(0, weight);
    trace_->op("aten::add");
    if (!raises) drop_elsewhere(weight);
    const Handle activation = trace_->allocate(high);
    if (raises) drop_elsewhere(weight);
    trace_->drop(activation);
    trace_->step(number);
  }

  TraceData load(const std::string& more = {}) {
    return trace_->load(
        "INSERT INTO string(id, text) VALUES (9000, 'pt_gloo_runloop');"
        "INSERT INTO thread VALUES (7, 4711, 9000, 1, 1);"
        "UPDATE storage SET end_thread = 7 WHERE id IN (0" +
        elsewhere_ + ");" + more);
  }

  std::unique_ptr<TestTrace> trace_;
  std::string elsewhere_;
};

TEST_F(LateTest, WhatAnotherThreadFreesWithinTheStepIsNoFinding) {
  for (int number = 0; number < 4; ++number) step(number, false);
  const TraceData data = load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  for (const ReleaseRow& row : analysis.releases.rows) {
    EXPECT_EQ(row.verdict, Verdict::kLate);
    EXPECT_FALSE(row.residual);
    EXPECT_EQ(row.let_go_by, ThreadId(7));
  }
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(
      analysis.remarks[0].text(),
      "4 releases of 1 parameter freed late: pt_gloo_runloop (thread 4711, of torch's gloo) still held the storages, "
      "for up to 4.0 ms; none of it at the peak");
}

TEST_F(LateTest, WhatRaisesMostPeaksIsAFinding) {
  for (int number = 0; number < 4; ++number) step(number, number != 2);
  const TraceData data = load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].title, "freed late");
  EXPECT_EQ(analysis.findings[0].dead_at_peak, Bytes(100));
  EXPECT_EQ(analysis.devices[0].what_if.predicted.bytes, Bytes(1000));
  EXPECT_NE(analysis.findings[0].why.find("pt_gloo_runloop"), std::string::npos);
}

TEST_F(LateTest, WhatRaisesAPeakNowAndThenIsARemark) {
  for (int number = 0; number < 5; ++number) step(number, number == 2);
  const TraceData data = load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].bytes, Bytes(100));
}

TEST_F(LateTest, SoonAfterTheStepIsLateAndALongTimeAfterItIsNever) {
  for (const bool soon : {true, false}) {
    begin();
    for (int number = 0; number < 3; ++number) step(number, false);
    const Handle weight = gathered(1);
    trace_->release(1, weight);
    trace_->op("aten::add");
    trace_->step(3);
    if (!soon) {
      for (int number = 4; number < 6; ++number) step(number, false);
    }
    drop_elsewhere(weight);
    trace_->op("aten::add");
    trace_->step(6);
    const TraceData data = load();
    const Releases releases = analyze_releases(data);
    const auto row = std::find_if(releases.rows.begin(), releases.rows.end(),
                                  [](const ReleaseRow& each) { return each.key().key == 1; });
    EXPECT_EQ(row->verdict, soon ? Verdict::kLate : Verdict::kNever);
    EXPECT_EQ(row->residual, !soon);
  }
}

TEST_F(LateTest, AThreadThatRunsBackwardsOrReleasesFreesWhatTheTrainingKept) {
  for (const std::string change : {"UPDATE operator SET thread = 7 WHERE scope = 'backward';",
                                   "UPDATE mark SET thread = 7 WHERE kind = 'gather' AND key = 5;"}) {
    begin();
    trace_->op("AddBackward0", {}, "backward");
    gathered(5);
    step(0, true);
    const TraceData data = load(change);
    const Releases releases = analyze_releases(data);
    EXPECT_TRUE(releases.rows.front().residual) << change;
    EXPECT_EQ(releases.rows.front().let_go_by, kNoThread);
  }
}

}  // namespace
}  // namespace dcmt::analyzer
