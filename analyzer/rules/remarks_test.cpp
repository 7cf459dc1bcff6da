#include "analyzer/rules/remarks.h"

#include <gtest/gtest.h>

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
}

}  // namespace
}  // namespace dcmt::analyzer
