#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

const std::string kTrain = "sys.last_traceback.tb_next.tb_frame train (train.py:7)";
const std::string kForward = "sys.last_traceback.tb_next.tb_next.tb_frame forward (train.py:21)";

HeldOf frames(std::vector<std::string> which) {
  return {.containers = std::move(which), .path = kTrain + ": x", .type = "finished frame"};
}

/// Six steps; in the step `failing`, 100 bytes are made that stay, held as `of` says. They end before the last step if
/// `goes`.
std::vector<Finding> findings(int failing, const HeldOf& of, bool goes = false) {
  TestTrace trace;
  trace.stack = {{"train.py", "train", 7}};
  trace.allocate(5000);  // a parameter
  std::vector<Handle> kept;
  for (int i = 0; i < 6; ++i) {
    const Handle matrix = trace.allocate(700);
    if (i == failing) {
      kept.push_back(trace.allocate(100));
      trace.held(kept.back(), of);
    }
    trace.drop(matrix);
    if (goes && i == 4) trace.drop(kept.back());
    trace.step(i);
  }
  static std::deque<TraceData> data;  // findings have texts of it
  return analyze(data.emplace_back(trace.load())).findings;
}

TEST(KeptByTraceback, TheFrameIsNamedWithWhatItKeeps) {
  const std::vector<Finding> found = findings(2, frames({kTrain}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().rule, "kept_by_traceback");
  EXPECT_EQ(found.front().title, "kept by a traceback");
  EXPECT_EQ(found.front().classes, (std::vector<std::string>{"D14"}));
  EXPECT_EQ(found.front().growth->type, "finished frame");
  EXPECT_EQ(found.front().growth->alone, Bytes(100));
  EXPECT_EQ(found.front().growth->seen, 1);
  EXPECT_NE(found.front().why.find("its traceback is kept"), std::string::npos);
  EXPECT_NE(found.front().fix.find("drop the exception"), std::string::npos);
  EXPECT_EQ(found.front().growth->holder, kTrain);
  EXPECT_EQ(found.front().growth->rounds, 0);
  EXPECT_EQ(found.front().bytes, Bytes(100));
  EXPECT_EQ(found.front().confidence, Confidence::kCertain);
  EXPECT_EQ(found.front().predicted_peak, Bytes(5000 + 700 + 100)) << "in its own step it was needed";
}

TEST(KeptByTraceback, ItIsNeededUntilItsStatementRunsAgain) {
  TestTrace trace;
  const auto call = [&](bool fails) {
    trace.stack = {{"train.py", "train", 7}};
    const Handle batch = trace.allocate(100);
    if (fails) trace.held(batch, frames({kTrain}));
    trace.stack = {{"train.py", "train", 8}};
    const Handle matrix = trace.allocate(700);
    trace.drop(matrix);
    if (!fails) trace.drop(batch);
  };
  for (int i = 0; i < 4; ++i) {
    if (i == 2) call(true);  // in one step with the call that comes after it
    call(false);
    trace.step(i);
  }
  const TraceData data = trace.load();
  const std::vector<Finding> found = analyze(data).findings;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().predicted_peak, Bytes(100 + 700)) << "900 with it";
}

TEST(KeptByTraceback, FramesOfOneTracebackAreOneFinding) {
  EXPECT_EQ(findings(2, frames({kTrain, kForward})).size(), 1u);
}

TEST(KeptByTraceback, WhatIsHeldOtherwiseIsNone) {
  HeldOf of = frames({kTrain});
  of.otherwise = true;
  EXPECT_TRUE(findings(2, of).empty());
  of = frames({kTrain});
  of.type = "list";
  EXPECT_TRUE(findings(2, of).empty());
}

TEST(KeptByTraceback, NorWhatTheFirstStepMadeWhatIsJustFailingOrWhatHasGone) {
  EXPECT_TRUE(findings(0, frames({kTrain})).empty());
  EXPECT_TRUE(findings(5, frames({kTrain})).empty());
  EXPECT_TRUE(findings(2, frames({kTrain}), true).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
