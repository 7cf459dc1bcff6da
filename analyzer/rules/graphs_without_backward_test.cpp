#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr std::int64_t kParameter = 200, kSaved = 1000, kTemporary = 300;

const HeldOf kInGraph = {.containers = {"evaluate: outs"},
                         .path = "evaluate: outs[0].grad_fn AddmmBackward0._saved_mat1",
                         .role = "saved for backward"};
const HeldOf kItself = {
    .containers = {"evaluate: outs"}, .path = "evaluate: outs[0]", .otherwise = true, .role = "saved for backward"};

struct Evaluation {
  int forwards = 6;
  int read = 6;  ///< so many first ones were found, as `held` says
  HeldOf held = kInGraph;
  bool backwards = false;   ///< one after each forward
  bool goes_on = true;      ///< after it dropped all
  std::int64_t before = 0;  ///< bytes of the training before it
};

std::vector<Finding> findings(const Evaluation& program) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 1}};
  trace.allocate(kParameter);
  if (program.before != 0) trace.drop(trace.allocate(program.before));
  std::vector<Handle> kept;
  for (int i = 0; i < program.forwards; ++i) {
    trace.stack = {{"train.py", "evaluate", 5}};
    kept.push_back(trace.allocate(kSaved));
    trace.stack = {{"train.py", "evaluate", 6}};
    trace.drop(trace.allocate(kTemporary));
    if (program.backwards) trace.phase("backward", [&] { trace.drop(trace.allocate(1)); });
  }
  trace.begin_reading();
  for (int i = 0; i < program.read; ++i) trace.held(kept[static_cast<std::size_t>(i)], program.held);
  for (const Handle each : kept) trace.drop(each);
  trace.stack = {{"train.py", "main", 9}};
  if (program.goes_on) trace.drop(trace.allocate(1));
  static std::deque<TraceData> data;  // findings have texts of it
  return analyze(data.emplace_back(trace.load())).findings;
}

TEST(GraphsWithoutBackward, WhatAnEvaluationKeepsIsNamedWithItsHolder) {
  const std::vector<Finding> found = findings({});
  ASSERT_EQ(found.size(), 1u);
  const Finding& finding = found.front();
  EXPECT_EQ(finding.rule, "graphs_without_backward");
  EXPECT_EQ(finding.classes, (std::vector<std::string>{"D02"}));
  EXPECT_EQ(finding.growth->holder, "evaluate: outs");
  EXPECT_EQ(finding.growth->type, "list");
  EXPECT_EQ(finding.growth->rounds, 0);
  EXPECT_EQ(finding.bytes, Bytes(5 * kSaved)) << "the last forward was still running";
  EXPECT_EQ(finding.dead_at_peak, finding.bytes);
  EXPECT_EQ(finding.predicted_peak, Bytes(kParameter + kSaved + kTemporary));
  EXPECT_EQ(finding.confidence, Confidence::kCertain);
}

TEST(GraphsWithoutBackward, WhereAnotherPointIsAsHighItCostsNothing) {
  EXPECT_TRUE(findings({.before = 6 * kSaved}).empty());
  EXPECT_EQ(findings({.before = 3 * kSaved}).size(), 1u);
}

TEST(GraphsWithoutBackward, WhatWasNotReadIsAsOthersOfItsPlace) {
  const std::vector<Finding> found = findings({.read = 2});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().growth->seen, 2);
  EXPECT_EQ(found.front().confidence, Confidence::kPartial);
  EXPECT_EQ(found.front().predicted_peak, Bytes(kParameter + kSaved + kTemporary));
}

TEST(GraphsWithoutBackward, AVariableIsNoHolderOfSeveralGraphs) {
  const std::vector<Finding> found = findings({.read = 2,
                                               .held = {.path = "evaluate: out.grad_fn AddmmBackward0._saved_mat1",
                                                        .otherwise = true,
                                                        .role = "saved for backward"}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().growth->holder, "");
  EXPECT_EQ(found.front().confidence, Confidence::kUnknown);
  EXPECT_EQ(found.front().bytes, Bytes(5 * kSaved));
}

TEST(GraphsWithoutBackward, SilentWhereABackwardRuns) { EXPECT_TRUE(findings({.backwards = true}).empty()); }

TEST(GraphsWithoutBackward, SilentOnTheGraphThatAVariableHasUntilItsNextValue) {
  EXPECT_TRUE(findings({.forwards = 3, .read = 3}).empty());
}

TEST(GraphsWithoutBackward, SilentOnWhatIsKeptItself) { EXPECT_TRUE(findings({.held = kItself}).empty()); }

TEST(GraphsWithoutBackward, SilentOnWhatNoReadingFound) { EXPECT_TRUE(findings({.read = 0}).empty()); }

TEST(GraphsWithoutBackward, WhatGrowsToTheEndIsOneFinding) {
  const std::vector<Finding> found = findings({.goes_on = false});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().rule, "grows");
}

}  // namespace
}  // namespace dcmt::analyzer
