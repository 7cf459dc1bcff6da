#include "analyzer/rules/remarks.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

Handle forward(TestTrace& trace) {
  const Handle weight = trace.allocate(1000);
  trace.op("gather", [&] { trace.gather(1, weight); });
  trace.op("aten::mm");
  return weight;
}

void train(TestTrace& trace) {
  const Handle weight = forward(trace);
  trace.op("autograd::engine::execute", {}, "backward");
  trace.release(1, weight, {}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::add");
  trace.drop(weight);
}

TEST(Remarks, ARootThatOnlyBackwardsReleaseStaysGatheredAfterAnEvaluation) {
  TestTrace trace;
  train(trace);
  trace.step(1);
  forward(trace);  // an evaluation; or a forward that ended in an exception
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].kind, RemarkKind::kStaysGathered);
  EXPECT_EQ(analysis.remarks[0].parameters, 1);
  EXPECT_EQ(analysis.remarks[0].releases, 0) << "that is a pool's";
  EXPECT_EQ(analysis.remarks[0].bytes, Bytes(1000));
}

/// A teacher that is only evaluated, while its student is trained.
TEST(Remarks, ARootOfFsdp2StaysGatheredThroughTheBackwardsOfOtherModels) {
  TestTrace trace;
  trace.parameters = {{0, 1, "head.weight", "FSDP2"}};
  forward(trace);
  trace.op("autograd::engine::execute", {}, "backward");
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  EXPECT_TRUE(analysis.findings.empty());
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].kind, RemarkKind::kStaysGathered);
}

TEST(Remarks, AReleaseThatABackwardShouldHaveMadeIsMissed) {
  TestTrace trace;
  train(trace);
  trace.step(1);
  forward(trace);
  trace.op("autograd::engine::execute", {}, "backward");
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  EXPECT_EQ(analysis.findings[0].rule, "never_released");
  EXPECT_EQ(analysis.findings[0].title, "gathered, never released");
  EXPECT_TRUE(analysis.remarks.empty());
}

TEST(Remarks, ADeclaredCountThatIsTooHighIsNamed) {
  TestTrace trace;
  for (int i = 0; i < 2; ++i) {
    const Handle weight = forward(trace);
    trace.release(1, weight, {.declared = 2, .remaining = 1, .flags = ""});
    trace.drop(weight);
    trace.op("aten::add");
  }
  trace.step(1);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  ASSERT_EQ(analysis.remarks.size(), 1u);
  EXPECT_EQ(analysis.remarks[0].kind, RemarkKind::kUsesLeft);
  EXPECT_EQ(analysis.remarks[0].parameters, 1);
  EXPECT_EQ(analysis.remarks[0].releases, 0) << "that is a pool's";
}

/// Releases of a verdict: three, of two parameters.
std::vector<Remark> remarks_of(const char* flags, bool lost = false) {
  TestTrace trace;
  for (const std::int64_t key : {1, 2, 2}) {
    const Handle weight = trace.allocate(1000);
    if (lost) trace.op("gather", [&] { trace.gather(key, weight); });
    trace.release(key, weight, {.flags = flags});
    if (lost) trace.lose();
    trace.op("aten::add");
  }
  trace.step(1);
  const TraceData data = trace.load();
  return analyze(data).remarks;
}

TEST(Remarks, ReleasesThatCannotBeJudgedAreCountedWithTheirParameters) {
  const auto is = [](const std::vector<Remark>& remarks, RemarkKind kind) {
    return remarks.size() == 1 && remarks[0].kind == kind && remarks[0].count == 3 && remarks[0].parameters == 2;
  };
  EXPECT_TRUE(is(remarks_of("final,untracked"), RemarkKind::kUntracked));
  EXPECT_TRUE(is(remarks_of("final,no_gather"), RemarkKind::kFirstMissed));
  EXPECT_TRUE(is(remarks_of("final", true), RemarkKind::kUnknown));
  EXPECT_TRUE(remarks_of("").empty());
}

TEST(Remarks, OfWhatStaysGatheredEachParameterCountsOnceWithItsLargestBytes) {
  TestTrace trace;
  trace.parameters = {{0, 1, "head.weight", "FSDP2"}, {0, 2, "body.weight", "FSDP2"}};
  for (const auto& [key, bytes] : {std::pair<std::int64_t, std::int64_t>{1, 100}, {1, 300}, {1, 200}, {2, 50}}) {
    trace.op("gather", [&] { trace.gather(key, trace.allocate(bytes)); });
  }
  trace.op("aten::mm");
  trace.step(1);
  const TraceData data = trace.load();
  const std::vector<Remark> remarks = analyze(data).remarks;
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0].kind, RemarkKind::kStaysGathered);
  EXPECT_EQ(remarks[0].count, 4);
  EXPECT_EQ(remarks[0].parameters, 2);
  EXPECT_EQ(remarks[0].bytes, Bytes(350));
}

TEST(Remarks, UsesAreLeftOnlyWhereTheNextCycleBeganWithoutAFinalRelease) {
  const auto found = [](const char* flags, bool another) {
    TestTrace trace;
    for (int i = 0; i < (another ? 2 : 1); ++i) {
      const Handle weight = forward(trace);
      trace.release(1, weight, {.declared = 2, .remaining = 1, .flags = ""});
      if (*flags != 0) trace.release(1, weight, {.declared = 2, .flags = flags});
      trace.drop(weight);
    }
    trace.op("aten::add");
    trace.step(1);
    const TraceData data = trace.load();
    return analyze(data).remarks.size();
  };
  EXPECT_EQ(found("", true), 1u);
  EXPECT_EQ(found("", false), 0u) << "the next use may still come";
  for (const char* flags : {"final", "persistent", "unwound"}) EXPECT_EQ(found(flags, true), 0u) << flags;
}

/// FSDP2 releases its root in a backward. For other mechanisms, an earlier cycle must show it.
TEST(Remarks, WhetherABackwardWouldHaveReleasedItDecides) {
  const auto found = [](bool backward_before_release, bool released, bool backward_between = false) {
    TestTrace trace;
    if (released) {
      const Handle weight = forward(trace);
      if (backward_before_release) trace.op("autograd::engine::execute", {}, "backward");
      trace.release(1, weight, {}, [&] { trace.resize_to_zero(weight); });
      trace.op("aten::add");
      trace.drop(weight);
      trace.step(1);
    }
    if (backward_between) trace.op("autograd::engine::execute", {}, "backward");
    forward(trace);
    trace.op("aten::mm");
    trace.step(2);
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    return std::pair(analysis.findings.size(), analysis.remarks.size());
  };
  EXPECT_EQ(found(true, true), std::pair(std::size_t{0}, std::size_t{1})) << "no backward ran this time";
  EXPECT_EQ(found(false, true), std::pair(std::size_t{1}, std::size_t{0})) << "its releases need no backward";
  EXPECT_EQ(found(false, true, true), std::pair(std::size_t{1}, std::size_t{0}))
      << "that backward came after its release";
  EXPECT_EQ(found(false, false), std::pair(std::size_t{1}, std::size_t{0})) << "it was never seen to be released";
}

}  // namespace
}  // namespace dcmt::analyzer
