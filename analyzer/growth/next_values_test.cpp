#include "analyzer/growth/next_values.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/testing/source_program.h"

namespace dcmt::analyzer {
namespace {

using testing::SourceProgram;
using Handle = SourceProgram::Handle;
using Sequences = std::vector<Sequence>;

const testing::FrameOf kOperator{"/opt/python3/lib/python3.11/site-packages/torch/nn/modules/linear.py", "forward",
                                 134};

const GrowingSites kGrowing = {.sites = {{StackId(), {}}}, .end = {}};

/// Of each part of the path that changes.
std::vector<NextValues::Changes> changes(const TraceData& data, std::string_view path) {
  const StatementUse program(data, kGrowing);
  NextValues next(data, program);
  std::vector<NextValues::Changes> all;
  for (const NextValues::Changes* each : next.on(path)) all.push_back(*each);
  return all;
}

/// The block comes before the storage.
Sequence begin(const SourceProgram& program, Handle handle) { return Sequence(program.birth(handle).value - 1); }

TEST(NextValues, AnAttributeByAStatementThatMakesNothing) {
  SourceProgram program;
  std::vector<Handle> after;
  for (int turn = 0; turn < 3; ++turn) {
    program.made_at(3, {{"train.py", "forward", 6}});
    after.push_back(program.made_at(4));
  }
  program.load(
      "def main():\n  for x in data:\n    y = net(x)\n    z = y * 2\n"
      "def forward(self, x):\n  y = ones(9)\n  self.last = y\n  return y\n");
  const auto all = changes(program.data, "main: net.last");
  ASSERT_EQ(all.size(), 1u) << "the variable has one value";
  EXPECT_EQ(all[0].at, (Sequences{begin(program, after[0]), begin(program, after[1]), begin(program, after[2])}));
  EXPECT_TRUE(all[0].complete);
}

TEST(NextValues, AVariableWhenItsStatementIsDone) {
  SourceProgram program;
  std::vector<Handle> after;
  for (int turn = 0; turn < 2; ++turn) {
    program.made_at(3, {{"train.py", "step", 6}});
    program.made_at(3, {{"train.py", "step", 7}});
    after.push_back(program.made_at(4));
  }
  program.load(
      "def main():\n  for x in data:\n    logs = step(x)\n    z = y * 2\n"
      "def step(x):\n  y = ones(9)\n  return {'y': y * 2}\n");
  const auto all = changes(program.data, "main: logs['y'][0]");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].at, (Sequences{begin(program, after[0]), begin(program, after[1])}));
}

/// A new object has values of its own: those of the one before stay with it until the variable has the new one.
TEST(NextValues, AnAttributeThatOnlyConstructorsGiveChangesWithItsObject) {
  for (const bool elsewhere : {false, true}) {
    SourceProgram program;
    std::vector<Handle> after;
    for (int turn = 0; turn < 3; ++turn) {
      program.made_at(3, {{"train.py", "__init__", 6}});
      program.made_at(3, {{"train.py", "__init__", 7}});
      after.push_back(program.made_at(4));
    }
    program.load(std::string("def main():\n  for x in data:\n    fold = Fold(x)\n    z = y * 2\n"
                             "def __init__(self, x):\n  self.train = x[::2]\n  self.test = x[1::2]\n") +
                 (elsewhere ? "def shrink(self):\n  self.train = self.train[:9]\n" : ""));
    const auto all = changes(program.data, "main: fold.train");
    ASSERT_EQ(all.size(), elsewhere ? 2u : 1u);
    EXPECT_EQ(all[0].at, (Sequences{begin(program, after[0]), begin(program, after[1]), begin(program, after[2])}));
  }
}

TEST(NextValues, AVariableOfAFunctionEndsWithIt) {
  SourceProgram program;
  std::vector<Handle> after;
  for (int turn = 0; turn < 2; ++turn) {
    program.made_at(3, {{"train.py", "Trial.fit", 7}});
    program.made_at(3, {{"train.py", "Trial.fit", 8}});
    after.push_back(program.made_at(4));
  }
  program.load(
      "def main():\n  while True:\n    trial.fit()\n    z = y * 2\n"
      "class Trial:\n  def fit(self):\n    y = ones(9)\n    z = y * 2\n");
  const auto all = changes(program.data, "Trial.fit: self.net[0].weight");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].at, (Sequences{begin(program, after[0]), begin(program, after[1])}));
}

TEST(NextValues, TheVariableOfALoopWithEachTurn) {
  SourceProgram program;
  program.made_at(3);
  program.made_at(4);
  const Handle second = program.made_at(3);
  program.load("def main():\n  for x in data:\n    y = x * 2\n    z = y * 2\n  w = ones(9)\n");
  EXPECT_EQ(changes(program.data, "main: x").at(0).at.back(), begin(program, second));
  EXPECT_TRUE(changes(program.data, "main: w").empty()) << "behind the loop";
}

TEST(NextValues, AStatementThatMayHaveRunSeveralTimesInARow) {
  SourceProgram program;
  for (int turn = 0; turn < 3; ++turn) program.made_at(3, {kOperator});
  const std::string rest = "\n    rows.append(y)\n";
  program.load("def main():\n  for x in data:\n    y = net(x)" + rest);
  ASSERT_EQ(changes(program.data, "main: y").size(), 1u);
  EXPECT_FALSE(changes(program.data, "main: y")[0].complete);
}

TEST(NextValues, AFunctionThatBeginsAnewShowsThatItsCallRanAgain) {
  SourceProgram program;
  std::vector<Handle> first;
  for (int turn = 0; turn < 3; ++turn) {
    first.push_back(program.made_at(3, {{"train.py", "build", 5}}));
    program.made_at(3, {{"train.py", "build", 6}});
  }
  program.load("def main():\n  for x in data:\n    y = build(x)\ndef build(x):\n  a = ones(9)\n  return a * 2\n");
  const auto all = changes(program.data, "main: y");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].at, (Sequences{begin(program, first[1]), begin(program, first[2])}));
  EXPECT_TRUE(all[0].complete);
}

TEST(NextValues, NothingIsSaidOfCyclesSuspendedFunctionsAndPathsWithoutNames) {
  SourceProgram program;
  program.made_at(3);
  program.load("def main():\n  for x in data:\n    y = ones(9)\n    self.x = y\n");
  for (const char* path : {"", "cycle Knot.me → Knot", "main: s.gi_frame main (train.py:3): y", "main: ", "other: y"})
    EXPECT_TRUE(changes(program.data, path).empty()) << path;
}

TEST(NextValues, ABackwardIsDoneWithANodeAfterTheLastOfItsName) {
  SourceProgram program;
  const auto backward = [&] {
    program.trace.phase("backward", [&] {
      for (int node = 0; node < 2; ++node)
        program.trace.op(
            "MulBackward0", [&] { program.made_at(3); }, "backward");
    });
    return Sequence(program.trace.last_seq());
  };
  program.made_at(2);
  const Sequence first = backward();
  program.made_at(2);
  const Sequence second = backward();
  program.load("def main():\n  y = ones(9)\n  y.backward()\n");
  const StatementUse statements(program.data, kGrowing);
  NextValues next(program.data, statements);
  const NextValues::Changes* node = next.on_node("main: y.grad_fn SumBackward0 … 2 nodes → MulBackward0._saved_self");
  ASSERT_NE(node, nullptr);
  ASSERT_EQ(node->at.size(), 2u);
  EXPECT_LT(node->at[0], first);
  EXPECT_GT(node->at[0].value, first.value - 3) << "the second node";
  EXPECT_GT(node->at[1].value, second.value - 3);
  EXPECT_EQ(next.on_node("main: y.grad_fn MulBackward0._saved_self"), node);
  EXPECT_EQ(next.on_node("main: y"), nullptr);
}

TEST(NextValues, ACallHasEndedWhereItsFunctionIsNoMoreOrBeginsAgain) {
  SourceProgram program;
  const testing::StackOf in_work{{"train.py", "work", 6}}, in_inner{{"train.py", "inner", 9}, {"train.py", "work", 7}};
  const Handle first = program.made_at(3, in_work), inner = program.made_at(3, in_inner);
  const Handle again = program.made_at(3, in_work), after = program.made_at(4);
  program.load("def main():\n  while True:\n    work()\n    ones(9)\ndef work():\n  x = ones(9)\n  inner()\n" +
               std::string("def inner():\n  y = ones(9)\n  raise E\n"));
  const StatementUse statements(program.data, kGrowing);
  const NextValues next(program.data, statements);
  EXPECT_EQ(next.end_of_call("work", program.storage(first)), program.birth(again));
  EXPECT_EQ(next.end_of_call("work", program.storage(again)), program.birth(after));
  EXPECT_EQ(next.end_of_call("inner", program.storage(inner)), program.birth(again));
  EXPECT_FALSE(next.end_of_call("inner", program.storage(first)).valid());
  EXPECT_FALSE(next.end_of_call("main", program.storage(after)).valid()) << "it goes on";
}

TEST(NextValues, AFunctionHasEndedWhereNoCallOfItIsLeft) {
  SourceProgram program;
  const testing::StackOf in_work{{"train.py", "work", 6}};
  const Handle before = program.made_at(3), first = program.made_at(3, in_work), second = program.made_at(3, in_work);
  const Handle between = program.made_at(4), third = program.made_at(3, in_work), after = program.made_at(4);
  program.load("def main():\n  while True:\n    work()\n    ones(9)\ndef work():\n  x = ones(9)\n  y = x * 2\n");
  const StatementUse statements(program.data, kGrowing);
  NextValues next(program.data, statements);
  EXPECT_EQ(next.end_of_function("work: x", program.birth(first)), program.birth(between));
  EXPECT_EQ(next.end_of_function("work: x", program.birth(second)), program.birth(between));
  EXPECT_EQ(next.end_of_function("work: x", program.birth(between)), program.birth(between)) << "it has ended";
  EXPECT_EQ(next.end_of_function("work: x", program.birth(third)), program.birth(after));
  EXPECT_FALSE(next.end_of_function("main: x", program.birth(before)).valid());
  EXPECT_FALSE(next.end_of_function("train.x", program.birth(before)).valid());
}

}  // namespace
}  // namespace dcmt::analyzer
