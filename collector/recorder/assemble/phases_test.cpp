#include "collector/recorder/assemble/phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder {
namespace {

using testing::AssemblerFixture;
using testing::row;
using testing::Rows;
using testing::rows;
using testing::TestStream;
using wire::MarkKind;
using wire::OpScope;
using wire::RecordType;

class PhasesTest : public AssemblerFixture {
 protected:
  /// "name|thread|from|to" of all phases, in order.
  Rows phases(const TestStream& stream) {
    Database db = record(stream);
    return rows(db,
                "SELECT text, thread, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                " ORDER BY from_seq, mark.id");
  }
};

TEST_F(PhasesTest, PhasesAndStepsComeFromTheOperators) {
  TestStream s;
  const auto first = s.named_thread(100, "python");
  std::vector<std::string> expected;
  std::string step_begin = std::to_string(first);
  std::vector<std::string> steps;
  for (int step = 0; step < 2; ++step) {
    const auto forward = s.op("aten::addmm");
    s.op("aten::mse_loss");
    const auto backward = s.op_begin("autograd::engine::evaluate_function: AddmmBackward0", 100 + 10 * step);
    s.op_begin("AddmmBackward0", 101 + 10 * step, OpScope::kBackward);
    s.op_begin("aten::mm", 102 + 10 * step);
    s.op_end(102 + 10 * step);
    s.op_end(101 + 10 * step);
    const auto backward_end = s.op_end(100 + 10 * step);
    s.op("aten::norm");  // clipping: neither a backward nor a forward
    s.text("Optimizer.step#SGD.step");
    const auto optimizer = s.op_begin("Optimizer.step#SGD.step", 105 + 10 * step, OpScope::kUser);
    const auto optimizer_end = s.op_end(105 + 10 * step);
    expected.push_back("forward|" + std::to_string(forward) + "|" + std::to_string(backward));
    expected.push_back("backward|" + std::to_string(backward) + "|" + std::to_string(backward_end));
    expected.push_back("optimizer|" + std::to_string(optimizer) + "|" + std::to_string(optimizer_end));
    steps.push_back(std::to_string(step) + "|" + step_begin + "|" + std::to_string(optimizer_end));
    step_begin = std::to_string(optimizer_end);
  }
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " ORDER BY from_seq"),
            expected);
  EXPECT_EQ(rows(db, "SELECT value, from_seq, to_seq FROM mark WHERE kind = 'step' ORDER BY id"), steps);
  EXPECT_EQ(totals_.steps, 2);
}

TEST_F(PhasesTest, PhasesAreDerivedFromMemoryWhereNoOperatorIsObserved) {
  TestStream s;
  s.named_thread(100, "python");
  const auto forward = s.alloc(0x1000, 100);
  s.alloc(0x2000, 100);
  const auto backward = s.op_begin("autograd::engine::execute", 1, OpScope::kBackward);
  s.thread = 2;
  s.op("MmBackward0", OpScope::kBackward);
  s.alloc(0x3000, 100);  // between two nodes of the device's thread
  s.op("AddBackward0", OpScope::kBackward);
  s.thread = 1;
  const auto backward_end = s.op_end(1);
  s.free(0x1000);        // not the begin of a forward
  s.alloc(0x4000, 100);  // nor is this: no backward follows
  const auto optimizer = s.op("Optimizer.step#SGD.step", OpScope::kUser);
  s.free(0x2000);
  const auto again = s.alloc(0x1000, 100);
  const auto next = s.op("autograd::engine::execute", OpScope::kBackward);
  Database db = record(s);
  const auto phase = [](const char* name, std::uint64_t from, std::uint64_t to) {
    return std::string(name) + "|" + std::to_string(from) + "|" + std::to_string(to);
  };
  EXPECT_EQ(rows(db,
                 "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " ORDER BY from_seq"),
            (Rows{phase("forward", forward, backward), phase("backward", backward, backward_end),
                  phase("optimizer", optimizer, optimizer + 1), phase("forward", again, next),
                  phase("backward", next, next + 1)}));
}

TEST_F(PhasesTest, SmallBlocksBeginAForwardWhenTheyBecomeMore) {
  TestStream s;
  s.named_thread(100, "python");
  s.small_blocks(100);
  s.op("autograd::engine::execute", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  s.small_blocks(50);
  const auto forward = s.small_blocks(51);
  s.op("autograd::engine::execute", OpScope::kBackward);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT from_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase' AND text = 'forward'"
                 " ORDER BY from_seq DESC LIMIT 1"),
            (Rows{std::to_string(forward)}));
}

TEST_F(PhasesTest, ForwardAgainAfterBackwardAndASecondOptimizer) {
  TestStream s;
  s.op("aten::addmm");
  s.op("AddmmBackward0", OpScope::kBackward);
  const auto again = s.op("aten::addmm");
  s.op("aten::relu");
  const auto backward = s.op("ReluBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto second = s.op("Optimizer.step#Adam.step", OpScope::kUser);
  Database db = record(s);
  const auto phases = rows(db,
                           "SELECT text, from_seq, to_seq FROM mark JOIN string ON string.id = name"
                           " WHERE kind = 'phase' ORDER BY from_seq");
  ASSERT_EQ(phases.size(), 6u);
  EXPECT_EQ(phases[2], "forward|" + std::to_string(again) + "|" + std::to_string(backward));
  EXPECT_EQ(rows(db, "SELECT value, to_seq FROM mark WHERE kind = 'step'"), (Rows{"0|" + std::to_string(second + 1)}));
}

TEST_F(PhasesTest, BackwardOnItsOwnThreadEndsWithTheForwardThreadsNextOperator) {
  TestStream s;
  s.op("aten::addmm");
  s.thread = 2;
  const auto begin = s.op("AddmmBackward0", OpScope::kBackward);
  s.thread = 1;
  s.op("aten::norm");
  Database db = record(s);
  EXPECT_EQ(
      rows(db, "SELECT thread, from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE text = 'backward'"),
      (Rows{"2|" + std::to_string(begin) + "|" + std::to_string(begin + 1)}));
}

TEST_F(PhasesTest, ExplicitStepsReplaceAutomaticOnes) {
  TestStream s;
  const auto first = s.op("aten::addmm") - 1;  // the text's record comes first
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto a = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 10);
  s.op("AddmmBackward0", OpScope::kBackward);
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto b = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 11);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db, "SELECT value, from_seq, to_seq FROM mark WHERE kind = 'step' ORDER BY id"),
              (Rows{"10|" + std::to_string(first) + "|" + std::to_string(a),
                    "11|" + std::to_string(a) + "|" + std::to_string(b)}));
    EXPECT_EQ(totals_.steps, 2);
  }
}

TEST_F(PhasesTest, AStepThatEndsWithinABackwardDoesNotEndIt) {
  TestStream s;
  s.op("aten::addmm");
  const auto backward = s.op_begin("AddmmBackward0", 100, OpScope::kBackward);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);  // in a hook
  const auto end = s.op_end(100);
  Database db = record(s);
  EXPECT_EQ(rows(db,
                 "SELECT from_seq, to_seq FROM mark JOIN string ON string.id = name WHERE kind = 'phase'"
                 " AND text = 'backward'"),
            (Rows{std::to_string(backward) + "|" + std::to_string(end)}));
}

TEST_F(PhasesTest, ABackwardEndsWithItsLastNode) {
  TestStream s;
  const auto forward = s.op("aten::addmm");
  const auto first = s.op("AddmmBackward0", OpScope::kBackward);
  const auto last = s.op("MmBackward0", OpScope::kBackward) + 1;
  s.alloc(0x1000, 64);
  s.free(0x1000);
  EXPECT_EQ(phases(s), (Rows{row("forward", 1, forward, first), row("backward", 1, first, last)}));
}

TEST_F(PhasesTest, ABackwardGoesOnWhileThreadsThatHaveNoPartInItWork) {
  TestStream s;
  const auto forward = s.op("aten::addmm");
  s.thread = 2;
  s.text("AddmmBackward0");
  const auto first = s.op_begin("AddmmBackward0", 50, OpScope::kBackward);
  s.thread = 1;
  s.op("aten::add");  // the forward's thread continues before the node has ended
  s.thread = 2;
  s.op_end(50);
  s.thread = 3;
  s.op("aten::copy_");  // of a loader
  s.thread = 2;
  const auto last = s.op("MmBackward0", OpScope::kBackward) + 1;
  s.op("aten::clone");  // its own thread has left the backward
  s.op("TBackward0", OpScope::kBackward);
  const Rows found = phases(s);
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], row("forward", 1, forward, first));
  EXPECT_EQ(found[1], row("backward", 2, first, last));
}

TEST_F(PhasesTest, AnOperatorWithinAnotherBeginsNoPhase) {
  TestStream s;
  const auto forward = s.op_begin("my::module", 1);
  const auto first = s.op_begin("AddmmBackward0", 2, OpScope::kBackward);
  s.op_end(2);
  s.op_begin("aten::addmm", 3);  // between two nodes, below my::module
  s.op_end(3);
  s.op_begin("MmBackward0", 4, OpScope::kBackward);
  const auto last = s.op_end(4);
  s.op_end(1);
  const auto text = s.op_begin("aten::addmm", 5) - 1;
  EXPECT_EQ(phases(s), (Rows{row("forward", 1, forward, first), row("backward", 1, first, last)}));
  EXPECT_GT(text, last);
}

TEST_F(PhasesTest, AStepEndsTheForwardAndTheNextOneIsAForwardAgain) {
  TestStream s;
  const auto first = s.op("aten::addmm");
  const auto step = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 1);
  const auto second = s.op("aten::addmm");
  const auto again = s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 2);
  const auto third = s.op("aten::addmm");
  const auto backward = s.op("AddmmBackward0", OpScope::kBackward);
  s.alloc(0x1000, 64);
  s.mark(RecordType::kMarkPoint, MarkKind::kStep, "step", 0, 3);
  EXPECT_EQ(phases(s), (Rows{row("forward", 1, first, step), row("forward", 1, second, again),
                             row("forward", 1, third, backward), row("backward", 1, backward, backward + 1)}));
}

TEST_F(PhasesTest, WhatRunsBeforeAnOptimizerIsNoForwardOfALaterBackward) {
  TestStream s;
  const auto forward = s.op("aten::addmm");
  const auto first = s.op("Optimizer.step#SGD.step", OpScope::kUser);  // without a backward: no step
  s.op("aten::norm");
  const auto second = s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto backward = s.op("AddmmBackward0", OpScope::kBackward);
  EXPECT_EQ(phases(s), (Rows{row("forward", 1, forward, first), row("optimizer", 1, first, first + 1),
                             row("optimizer", 1, second, second + 1), row("backward", 1, backward, backward + 1)}));
  EXPECT_EQ(totals_.steps, 0);
}

TEST_F(PhasesTest, ABackwardInAnOptimizersStepIsAPhaseInsideOfItsOwn) {
  TestStream s;
  s.text("Optimizer.step#LBFGS.step");
  s.text("Optimizer.step#inner");
  s.text("autograd::engine::execute");
  const auto from = s.op_begin("Optimizer.step#LBFGS.step", 100, OpScope::kUser);
  s.alloc(0x1000, 64);  // the forward in a closure
  const auto first = s.op_begin("autograd::engine::execute", 101, OpScope::kBackward);
  s.op_begin("AddmmBackward0", 102, OpScope::kBackward);
  s.op_end(102);
  s.op_begin("MmBackward0", 102, OpScope::kBackward);
  s.op_end(102);
  const auto first_end = s.op_end(101);
  s.op_begin("aten::add", 101);  // of the optimizer, or of the next forward
  s.op_end(101);
  const auto second = s.op_begin("autograd::engine::execute", 101, OpScope::kBackward);
  const auto second_end = s.op_end(101);
  s.op_begin("Optimizer.step#inner", 102, OpScope::kUser);
  s.op_end(102);
  const auto to = s.op_end(100);
  for (const bool commits : {false, true}) {
    Database db = record(s, commits);
    EXPECT_EQ(rows(db,
                   "SELECT text, thread, from_seq, to_seq FROM mark JOIN string ON string.id = name"
                   " WHERE kind = 'phase' ORDER BY from_seq"),
              (Rows{row("optimizer", 1, from, to), row("backward", 1, first, first_end),
                    row("backward", 1, second, second_end)}));
    EXPECT_EQ(totals_.steps, 1);
  }
}

TEST_F(PhasesTest, ABackwardOfAnotherThreadIsNoneOfTheOptimizersStep) {
  TestStream s;
  s.text("Optimizer.step#SGD.step");
  s.text("autograd::engine::execute");
  const auto from = s.op_begin("Optimizer.step#SGD.step", 100, OpScope::kUser);
  s.thread = 2;
  s.op("autograd::engine::execute", OpScope::kBackward);
  s.thread = 1;
  const auto to = s.op_end(100);
  EXPECT_EQ(phases(s), (Rows{row("optimizer", 1, from, to)}));
}

TEST_F(PhasesTest, ABackwardInAnOptimizersStepEndsWithItAtTheLatest) {
  TestStream s;
  s.text("Optimizer.step#LBFGS.step");
  s.text("autograd::engine::execute");
  const auto from = s.op_begin("Optimizer.step#LBFGS.step", 100, OpScope::kUser);
  const auto backward = s.op_begin("autograd::engine::execute", 101, OpScope::kBackward);
  s.alloc(0x1000, 64);
  EXPECT_EQ(phases(s), (Rows{row("optimizer", 1, from, "-"), row("backward", 1, backward, "-")}));
  const auto to = s.op_end(100);  // the end of the backward was lost
  EXPECT_EQ(phases(s), (Rows{row("optimizer", 1, from, to), row("backward", 1, backward, to)}));
}

TEST_F(PhasesTest, ANodeWhoseEndWasLostKeepsNoLaterBackwardOpen) {
  TestStream s;
  s.thread = 2;
  const auto lost = s.op_begin("AddmmBackward0", 100, OpScope::kBackward);
  s.thread = 1;
  s.text("Optimizer.step#SGD.step");
  const auto optimizer = s.op("Optimizer.step#SGD.step", OpScope::kUser);
  const auto forward = s.op("aten::addmm");
  const auto backward = s.op("AddmmBackward0", OpScope::kBackward);
  s.alloc(0x1000, 64);
  const Rows found = phases(s);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0], row("backward", 2, lost, optimizer));
  EXPECT_EQ(found[2], row("forward", 1, forward, backward));
  EXPECT_EQ(found[3], row("backward", 1, backward, backward + 1));
}

TEST_F(PhasesTest, EachStepEndsAnIntervalAndASecondOptimizerBelongsToItsStep) {
  TestStream s;
  std::vector<std::uint64_t> ends;
  std::vector<std::uint64_t> steps;
  for (int step = 0; step < 3; ++step) {
    s.op("aten::addmm");
    s.op("AddmmBackward0", OpScope::kBackward);
    ends.push_back(s.op("Optimizer.step#SGD.step", OpScope::kUser) + 1);
    steps.push_back(s.op("Optimizer.step#Adam.step", OpScope::kUser) + 1);
  }
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT value, thread, from_seq, to_seq FROM mark WHERE kind = 'step' ORDER BY id"),
            (Rows{row(0, 1, 1, steps[0]), row(1, 1, steps[0], steps[1]), row(2, 1, steps[1], steps[2])}));
  EXPECT_EQ(rows(db, "SELECT step, to_seq FROM interval WHERE step IS NOT NULL ORDER BY id"),
            (Rows{row(0, ends[0]), row(1, ends[1]), row(2, ends[2])}));
  EXPECT_EQ(totals_.steps, 3);
}

TEST_F(PhasesTest, OfOptimizersWithoutABackwardThereAreNoSteps) {
  TestStream s;
  s.op("aten::addmm");
  s.op("Optimizer.step#SGD.step", OpScope::kUser);
  Database db = record(s);
  EXPECT_EQ(rows(db, "SELECT count(*) FROM mark WHERE kind = 'step'"), (Rows{"0"}));
  EXPECT_EQ(totals_.steps, 0);
}

TEST_F(PhasesTest, ABackwardWhoseNodeStillRunsAtTheEndHasNoEnd) {
  TestStream s;
  const auto forward = s.op("aten::addmm");
  s.text("AddmmBackward0");
  const auto backward = s.op_begin("AddmmBackward0", 50, OpScope::kBackward);
  s.alloc(0x1000, 64);
  EXPECT_EQ(phases(s), (Rows{row("forward", 1, forward, backward), row("backward", 1, backward, "-")}));
}

}  // namespace
}  // namespace dcmt::recorder
