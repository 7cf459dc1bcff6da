#include "analyzer/growth/use_by_readings.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/growth/own_use.h"
#include "analyzer/testing/source_program.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::SourceProgram;
using Handle = SourceProgram::Handle;

constexpr std::string_view kLoopCode =
    "def main():\n  net = Net()\n  for x in data:\n    y = net(x)\n    z = y * 2\n    w = z * 2\n"
    "def forward(self, x):\n  z = ones(9)\n  self.last = z\ndef __init__(self):\n  self.items = [zeros(1)]\n";
constexpr int kTurns = 12;

/// A program in which a list keeps what forward() makes, at each turn. `also` is where readings after each turn find
/// the latest one, besides.
struct Loop {
  explicit Loop(const std::function<std::vector<std::string>(int age)>& also, bool read_at_once = false)
      : Loop([&also](int age, int /*turn*/) { return also(age); }, read_at_once) {}
  /// @param read_at_once  in every second turn, also before the program goes on
  explicit Loop(const std::function<std::vector<std::string>(int age, int turn)>& also, bool read_at_once = false) {
    program.dropped_at(3, program.made_at(2, {{"train.py", "__init__", 11}}));
    for (int turn = 0; turn < kTurns; ++turn) {
      kept.push_back(program.made_at(4, {{"train.py", "forward", 8}}));
      if (read_at_once && turn % 2 == 0) {
        program.trace.begin_reading();
        for (const std::string& path : also(0, turn)) program.trace.held(kept[turn], {.path = path});
      }
      after.push_back(program.made_at(5));
      program.trace.begin_reading();
      for (int i = 0; i <= turn; ++i) {
        for (const std::string& path : also(turn - i, turn)) program.trace.held(kept[i], {.path = path});
        program.trace.held(kept[i], {.containers = {"main: rows"}, .path = "main: rows[0]"});
      }
      program.dropped_at(6, after.back());
      program.trace.step(turn);
    }
    program.load(std::string(kLoopCode));
  }
  std::vector<std::optional<Sequence>> uses() const {
    const GrowingSites growing = growing_sites(program.data);
    EXPECT_EQ(growing.sites.size(), 1u);
    const OwnUse own_use(program.data, Holding(program.data, growing), growing);
    std::vector<std::optional<Sequence>> all;
    for (const Living& living : growing.sites.begin()->second.living) all.push_back(own_use.until(living));
    return all;
  }
  Sequence begin(Handle handle) const { return Sequence(program.birth(handle).value - 1); }

  SourceProgram program;
  std::vector<Handle> kept, after;
};

using Paths = std::vector<std::string>;

TEST(UseByReadings, AnAttributeHasItUntilItsNextValue) {
  const Loop loop([](int age) { return age == 0 ? Paths{"main: net.last"} : Paths{}; });
  const auto until = loop.uses();
  ASSERT_EQ(until.size(), static_cast<std::size_t>(kTurns));
  for (int i = 0; i + 1 < kTurns; ++i) EXPECT_EQ(until[i], loop.begin(loop.after[i + 1])) << i;
}

TEST(UseByReadings, AVariableThatStillHasItAfterTheNextIsMadeHasTwo) {
  const Loop loop(
      [](int age) { return age <= 1 ? Paths{age == 0 ? "main: net.last" : "main: net.last.before"} : Paths{}; });
  const Loop two([](int age) { return age == 1 ? Paths{"main: net.last"} : Paths{}; });
  const auto until = two.uses();
  for (int i = 0; i + 2 < kTurns; ++i) EXPECT_EQ(until[i], two.begin(two.after[i + 2])) << i;
  EXPECT_NE(loop.uses(), until) << "a chain of which nothing reads the first one";
}

/// The statement that gives the attribute its value makes nothing: it is seen to have run only by what comes next.
TEST(UseByReadings, AReadingBetweenTheStatementAndWhatShowsItSaysNoLess) {
  const auto uses = [](bool read_at_once) {
    Loop loop([](int age) { return age == 0 ? Paths{"main: net.last"} : Paths{}; }, read_at_once);
    std::vector<Sequence> after;
    for (const Handle each : loop.after) after.push_back(loop.begin(each));
    return std::pair(loop.uses(), after);
  };
  const auto [until, after] = uses(true);
  for (int i = 0; i + 1 < kTurns; ++i) EXPECT_EQ(until[i], after[i + 1]) << i;
}

/// As a loop over the list's entries does that calls each of them.
TEST(UseByReadings, AnOldOneThatOneReadingFindsElsewhereSaysNothingOfTheOthers) {
  const Loop once([](int age, int turn) { return age == 4 && turn == 8 ? Paths{"main: net.last"} : Paths{}; });
  const Loop nothing([](int) { return Paths{}; });
  const auto until = once.uses(), otherwise = nothing.uses();
  for (int i = 0; i < kTurns; ++i) {
    if (i == 4) continue;  // until its end, unless it is known
    EXPECT_EQ(until[i], otherwise[i]) << i;
  }
}

TEST(UseByReadings, WhatALastingAliasOfTheKeeperLeadsToIsNoUse) {
  const Loop alias([](int) { return Paths{"main: net.last[0]"}; }), nothing([](int) { return Paths{}; });
  EXPECT_EQ(alias.uses(), nothing.uses()) << "the older ones, too: it has no next value";
}

TEST(UseByReadings, WhatHasOnlyTheLatestHasEachUntilAsManyMoreWereMade) {
  // Nothing in the code says when an entry gets another value.
  const Loop three([](int age) { return age < 3 ? Paths{"main: states['a']"} : Paths{}; });
  const auto until = three.uses();
  for (int i = 0; i + 3 < kTurns; ++i) EXPECT_EQ(until[i], three.program.birth(three.kept[i + 3])) << i;
  const Loop half([](int age) { return age < kTurns / 2 + 1 ? Paths{"main: states['a']"} : Paths{}; });
  const Loop nothing([](int) { return Paths{}; });
  EXPECT_NE(half.uses(), until) << "it may have all: no reading found that it let go of as many";
  const Loop tee([](int age) { return age < 3 ? Paths{"main: items (ahead)[0]"} : Paths{}; });
  EXPECT_NE(tee.uses(), until) << "a part of what keeps them";
}

/// As a ring of the latest three, of which a list keeps what has left it. The variable and its attribute have one value
/// each all the time: main() has made `net` before the loop.
TEST(UseByReadings, WhatIsInTheContainerOfAnAttributeGoesWhenItLeavesThat) {
  const auto item = [](int age) { return "main: net.items[" + std::to_string(age) + "]"; };
  const Loop ring([&](int age) { return age < 3 ? Paths{item(age)} : Paths{}; });
  const auto until = ring.uses();
  for (int i = 0; i + 3 < kTurns; ++i) EXPECT_EQ(until[i], ring.program.birth(ring.kept[i + 3])) << i;
  const Loop some([&](int age) { return age == 0 || age == 3 ? Paths{item(age)} : Paths{}; });
  const Loop nothing([](int) { return Paths{}; });
  EXPECT_EQ(some.uses(), nothing.uses()) << "two of the latest four: what goes first is not what came first";
}

/// Of the storages of a list, `box` leads to one in each of the first turns. Nothing is read after these.
TEST(UseByReadings, WhatTheLastOfSeveralValuesLeadsToStaysWithIt) {
  constexpr int kWithBox = kTurns / 2;
  SourceProgram program;
  std::vector<Handle> kept;
  for (int turn = 0; turn < kTurns; ++turn) {
    kept.push_back(program.made_at(3, {{"train.py", "forward", 8}}));
    if (turn < kWithBox) {
      program.dropped_at(6, program.made_at(5));
      program.trace.begin_reading();
      program.trace.held(kept[turn], {.path = "main: box.items[0]"});
      for (const Handle each : kept) program.trace.held(each, {.containers = {"main: rows"}, .path = "main: rows[0]"});
    }
    program.trace.step(turn);
  }
  program.load(
      "def main():\n  for x in data:\n    y = net(x)\n    if x:\n      box = Box(y)\n    z = y\n"
      "def forward(self, x):\n  z = ones(9)\n");
  const GrowingSites growing = growing_sites(program.data);
  ASSERT_EQ(growing.sites.size(), 1u);
  const OwnUse own_use(program.data, Holding(program.data, growing), growing);
  const auto& living = growing.sites.begin()->second.living;
  ASSERT_EQ(living.size(), static_cast<std::size_t>(kTurns));
  EXPECT_NE(own_use.until(living[kWithBox - 1]), program.birth(kept[kWithBox])) << "`box` gets no further value then";
}

TEST(UseByReadings, WhatAVariableOfAnEndedCallHasWouldHaveEndedWithIt) {
  const Loop loop([](int) { return Paths{"main.errors[0].__traceback__.tb_next.tb_frame forward (train.py:9): z"}; });
  const auto until = loop.uses();
  for (int i = 0; i + 1 < kTurns; ++i) EXPECT_EQ(until[i], loop.program.birth(loop.after[i])) << i;
}

/// A list keeps outputs with their graphs, and each turn ends with a backward. `graph` says until which age a reading
/// in the turn finds the storage saved.
std::vector<std::optional<Sequence>> uses_in_training(int graph, std::vector<Sequence>& done) {
  SourceProgram program;
  std::vector<Handle> kept;
  for (int turn = 0; turn < kTurns; ++turn) {
    kept.push_back(program.made_at(4, {{"train.py", "forward", 8}}));
    program.made_at(5);
    program.trace.begin_reading();
    for (int i = 0; i <= turn; ++i) {
      if (turn - i <= graph && turn < kTurns / 2)
        program.trace.held(kept[i], {.path = "main: rows[0].grad_fn ReluBackward0._saved_result"});
      program.trace.held(kept[i], {.containers = {"main: rows"}, .path = "main: rows[0]"});
    }
    program.trace.phase("backward", [&] {
      program.trace.op(
          "ReluBackward0", [&] { program.made_at(6); }, "backward");
      program.made_at(6);
    });
    program.trace.step(turn);
  }
  program.load(std::string(kLoopCode));
  for (const Operator& op : program.data.operators) done.push_back(op.span.to_seq);
  const GrowingSites growing = growing_sites(program.data);
  const OwnUse own_use(program.data, Holding(program.data, growing), growing);
  std::vector<std::optional<Sequence>> all;
  for (const auto& [stack, site] : growing.sites) {
    for (const Living& living : site.living) {
      if (living.storage->id == program.trace.storage_id(kept[all.size()])) all.push_back(own_use.until(living));
      if (all.size() == kept.size()) return all;
    }
  }
  return all;
}

TEST(UseByReadings, AGraphThatABackwardHasLetGoOfNeededItUntilThenAlsoThroughTheKeeper) {
  std::vector<Sequence> done, of_kept;
  const auto until = uses_in_training(0, done), kept = uses_in_training(kTurns, of_kept);
  ASSERT_EQ(until.size(), static_cast<std::size_t>(kTurns));
  ASSERT_EQ(done.size(), until.size());
  for (int i = 0; i + 1 < kTurns; ++i) EXPECT_EQ(until[i], done[i]) << i;
  EXPECT_NE(kept, until) << "no backward takes it from that graph";
}

TEST(UseByReadings, AnArgumentOfALibraryIsNoUseOfItsOwn) {
  const Loop argument([](int age) { return age == 0 ? Paths{"Linear.forward: input"} : Paths{}; });
  const Loop nothing([](int) { return Paths{}; });
  EXPECT_EQ(argument.uses(), nothing.uses());
}

}  // namespace
}  // namespace dcmt::analyzer
