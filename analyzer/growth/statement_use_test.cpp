#include "analyzer/growth/statement_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/testing/source_program.h"

namespace dcmt::analyzer {
namespace {

using testing::FrameOf;
using testing::StackOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

const FrameOf kLinear{"/opt/python3/lib/python3.11/site-packages/torch/nn/modules/linear.py", "forward", 134};

class UseProgram : public testing::SourceProgram {
 public:
  /// nullopt: unknown.
  [[nodiscard]] std::optional<std::pair<Sequence, std::string>> use_of(Handle handle) const {
    const StatementUse uses(data, growing);
    auto statement = uses.statement_of(storage(handle).birth.stack);
    const auto use = statement ? uses.of(*statement, storage(handle)) : std::nullopt;
    return use ? std::optional(std::pair(use->until, std::string(use->variable))) : std::nullopt;
  }
  [[nodiscard]] std::optional<Sequence> until(Handle handle) const {
    const auto use = use_of(handle);
    return use ? std::optional(use->first) : std::nullopt;
  }
  GrowingSites growing = {.sites = {{StackId(), {}}}, .end = {}};  ///< something grows, or nothing is asked
};

TEST(StatementUse, AVariableHasItsValueUntilTheNextIsMade) {
  UseProgram program;
  const Handle first = program.made_at(3), other = program.made_at(4), next = program.made_at(3);
  program.load("def main():\n  while True:\n    x = ones(9)\n    y = x * 2\n");
  EXPECT_EQ(program.until(first), program.birth(next));
  EXPECT_EQ(program.use_of(first)->second, "x");
  EXPECT_EQ(program.until(next), Sequence()) << "to the end";
  EXPECT_EQ(program.until(other), Sequence());
}

TEST(StatementUse, ADeletedVariableHasItsValueUntilTheDel) {
  UseProgram program;
  const Handle kept = program.made_at(3, {kLinear}), other = program.made_at(4), last = program.made_at(5);
  program.dropped_at(6, other);
  const Handle next = program.made_at(3, {kLinear});
  const std::string code = "def main():\n  while True:\n    x = net(a)\n    y = x * 2\n    z = y + x\n    ";
  program.load(code + "del y, x\n");
  EXPECT_EQ(program.until(kept), program.end(other));
  program.load(code + "del y\n");
  EXPECT_EQ(program.until(kept), program.birth(next));
  program.load(code + "del y; del x\n");
  EXPECT_EQ(program.until(kept), program.end(other)) << "in one line";
  program.load(code + "del y\n    del x\n");
  EXPECT_FALSE(program.until(kept)) << "when it was deleted is unknown";
  program.load(code + "del y, x\n    del x\n");
  EXPECT_FALSE(program.until(kept)) << "which of them deleted it is unknown";
  EXPECT_EQ(program.until(last), Sequence());
}

/// What the called function makes behind the line that gives the variable its value is not on the way to it.
TEST(StatementUse, AReturnedVariableIsTheCallersFromItsOwnLineOn) {
  UseProgram program;
  const auto made_in_work = [&](std::int64_t line) { return program.made_at(3, {{"train.py", "work", line}}); };
  const Handle value = made_in_work(6);
  program.dropped_at(3, made_in_work(7));
  program.dropped_at(3, made_in_work(7));
  program.dropped_at(4, program.made_at(4));
  const Handle next = made_in_work(6);
  const std::string code =
      "def main():\n  while True:\n    z = work(z)\n    use(z * 2)\ndef work(z):\n  y = z.clone()\n";
  program.load(code + "  y += 1 - mean(y)\n  return y\n");
  EXPECT_EQ(program.until(value), program.birth(next));
  EXPECT_EQ(program.use_of(value)->second, "z");
  program.load(code + "  y = 1 - mean(y)\n  return y\n");
  EXPECT_NE(program.until(value), program.birth(next)) << "it is given another value";
}

TEST(StatementUse, AVariableOfAFunctionEndsWithIt) {
  UseProgram program;
  const Handle kept = program.made_at(2, {{"train.py", "work", 5}});
  const Handle inside = program.made_at(2, {{"train.py", "work", 6}});
  const Handle after = program.made_at(3);
  program.load("def main():\n  work()\n  z = ones(9)\ndef work():\n  x = ones(9)\n  y = x * 2\n");
  EXPECT_EQ(program.until(kept), program.birth(after));
  EXPECT_EQ(program.until(inside), program.birth(after));
  program.load("def main():\n  z = work()\n  z = ones(9)\ndef work():\n  x = ones(9)\n  return x * 2\n");
  EXPECT_FALSE(program.until(kept)) << "the caller may get a part of it";
  EXPECT_EQ(program.use_of(inside)->second, "z") << "the caller has what is returned";
  EXPECT_EQ(program.until(inside), program.birth(after));
}

TEST(StatementUse, WhatACallIsGivenIsTheCallsAlone) {
  UseProgram program;
  const Handle kept = program.made_at(3), inside = program.made_at(4, {kLinear});
  program.made_at(5);
  program.load("def main():\n  while True:\n    rows.append(x.clone())\n    rows.append(net(x))\n    y = x * 2\n");
  EXPECT_EQ(program.until(kept), program.birth(kept));
  EXPECT_FALSE(program.until(inside)) << "the call may keep it for itself";
}

TEST(StatementUse, WhatAFunctionReturnsByAVariableIsTheCallers) {
  UseProgram program;
  const Handle given = program.made_at(3, {{"train.py", "work", 7}});
  const Handle named = program.made_at(4, {{"train.py", "work", 7}}), after = program.made_at(5);
  const Handle next = program.made_at(4, {{"train.py", "work", 7}});
  const std::string loop = "def main():\n  while True:\n    rows.append(work())\n    x = work()\n    y = x * 2\n";
  program.load(loop + "def work():\n  z = ones(9)\n  return z\n");
  EXPECT_EQ(program.until(given), program.birth(given));
  EXPECT_EQ(program.until(named), program.birth(next));
  EXPECT_EQ(program.use_of(named)->second, "x");
  EXPECT_EQ(program.until(after), Sequence());
  program.load(loop + "def work():\n  z = ones(9)\n  return z, 1\n");
  EXPECT_FALSE(program.until(named)) << "a part of what is returned";
}

TEST(StatementUse, WhatIsOnTheWayToAValueIsUsedByTheNext) {
  UseProgram program;
  const FrameOf activation{kLinear.file, "forward", 816}, last{kLinear.file, "forward", 140};
  const Handle kept = program.made_at(3, {kLinear}), next = program.made_at(3, {activation});
  const Handle value = program.made_at(3, {last});
  program.dropped_at(3, next);
  program.made_at(4);
  program.dropped_at(5, value);
  program.load("def main():\n  while True:\n    x = net(a)\n    y = x * 2\n    del x\n");
  EXPECT_EQ(program.until(kept), program.birth(next));
}

TEST(StatementUse, AGraphHasWhatIsOnTheWayAsLongAsTheOthers) {
  UseProgram program;
  const FrameOf activation{kLinear.file, "forward", 816}, last{kLinear.file, "forward", 140};
  const Handle kept = program.made_at(3, {kLinear}), next = program.made_at(3, {activation});
  program.made_at(3, {last});
  program.made_at(4);
  program.dropped_at(4, next);
  program.load("def main():\n  while True:\n    x = net(a)\n    x.backward()\n");
  EXPECT_EQ(program.until(kept), program.end(next));
  program.growing.sites[program.storage(next).birth.stack].living.emplace_back().storage = &program.storage(next);
  EXPECT_FALSE(program.until(kept)) << "something keeps the other one: its end says nothing";
}

TEST(StatementUse, WhatAValueHasReplacedIsTheOldestThatEndsThen) {
  UseProgram program;
  const Handle first = program.made_at(3), later = program.made_at(3), value = program.made_at(4);
  program.dropped_at(4, later);
  program.dropped_at(4, first);
  program.made_at(3);
  program.load("def main():\n  while True:\n    x = ones(9)\n    rows = cat([rows, x])\n");
  const StatementUse uses(program.data, program.growing);
  auto statement = uses.statement_of(program.storage(value).birth.stack);
  ASSERT_TRUE(statement);
  EXPECT_EQ(uses.replaced_by(*statement, program.storage(value)), &program.storage(first));
}

TEST(StatementUse, WhatALambdaMakesMayBeWhatItReturnsOrNot) {
  UseProgram program;
  const Handle kept = program.made_at(3, {{"train.py", "<lambda>", 1}});
  program.made_at(3);
  program.load("keep = lambda x: rows.append(x.clone())\n\nx = net(a)\n");
  EXPECT_FALSE(program.until(kept));
}

TEST(StatementUse, AGraphMayHaveWhatItSavedLongerThanAVariable) {
  UseProgram program;
  const Handle saved = program.made_at(3);
  program.made_at(4);
  program.made_at(3);
  const std::string code = "def main():\n  while True:\n    x = relu(a)\n    y = x * 2\n";
  program.load(code);
  EXPECT_TRUE(program.until(saved));
  program.trace.begin_reading();
  program.trace.held(saved, {.containers = {"main: rows"}, .path = "main: rows[0]", .role = "saved for backward"});
  program.load(code);
  EXPECT_FALSE(program.until(saved));
}

/// Programs of random statements, which keep nothing: where the use is said, nothing is made between its end and the
/// end of the storage.
TEST(StatementUse, InRandomProgramsItIsTheLifeOfWhatNothingKeeps) {
  int said = 0, all = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
    UseProgram program;
    std::string code = "def main():\n  while True:\n";
    struct Line {
      char kind;
      std::vector<unsigned> variables;
    };
    std::vector<Line> lines;
    std::vector<bool> has(3);
    for (int i = 0; i < 8; ++i) {
      const unsigned one = below(3), kind = below(4);
      if (kind == 3 && has[one]) {
        lines.push_back({'d', {one}});
        if (const unsigned other = below(3); other != one && has[other]) lines.back().variables.push_back(other);
      } else {
        lines.push_back({kind == 2 ? 't' : 'v', {one}});
      }
      if (lines.back().kind != 't') {
        for (const unsigned each : lines.back().variables) has[each] = lines.back().kind == 'v';
      }
      const auto name = [](unsigned variable) { return std::string(1, static_cast<char>('a' + variable)); };
      code += "    ";
      if (lines.back().kind == 't') code += "use(ones(9))\n";
      if (lines.back().kind == 'v') code += name(one) + " = ones(9)\n";
      if (lines.back().kind == 'd') {
        code += "del " + name(one);
        if (lines.back().variables.size() > 1) code += ", " + name(lines.back().variables[1]);
        code += "\n";
      }
    }
    std::vector<std::optional<Handle>> values(3);
    std::vector<Handle> ended;
    for (int round = 0; round < 4; ++round) {
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const auto number = static_cast<std::int64_t>(i) + 3;
        const auto drop = [&](std::optional<Handle>& value) {
          if (!value) return;
          program.dropped_at(number, *value);
          ended.push_back(*value);
          value.reset();
        };
        if (lines[i].kind == 'd') {
          for (const unsigned variable : lines[i].variables) drop(values[variable]);
          continue;
        }
        std::optional<Handle> made = program.made_at(number);
        std::optional<Handle>& variable = values[lines[i].variables[0]];
        if (lines[i].kind == 'v') std::swap(made, variable);
        drop(made);
      }
    }
    program.load(code);
    for (const Handle each : ended) {
      ++all;
      const std::optional<Sequence> until = program.until(each);
      if (!until) continue;
      ++said;
      const Sequence from = std::min(*until, program.end(each)), to = std::max(*until, program.end(each));
      for (const Storage& other : program.data.storages) {
        const Sequence born = other.span.from_seq;
        EXPECT_FALSE(from < born && born < to) << "seed " << seed << "\n" << code << program.storage(each).id.value;
      }
    }
  }
  EXPECT_GT(said, all / 3);
}

}  // namespace
}  // namespace dcmt::analyzer
