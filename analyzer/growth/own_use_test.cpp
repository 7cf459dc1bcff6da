#include "analyzer/growth/own_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/growth/not_kept.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

const HeldOf kKept{.containers = {"main: losses"}, .path = "main: losses[0]"};
const HeldOf kKeptAndUsed{.containers = {"main: losses", "main: v"}, .path = "main: losses[0]", .type = "graph"};

/// Until when each of the storages is of use that every `period`-th of 13 steps makes. `then` comes in the step after.
std::vector<std::optional<Sequence>> uses(int period, const std::function<void(TestTrace&, Handle)>& then,
                                          TraceData& data) {
  TestTrace trace;
  trace.stack = {{"train.py", "main", 7}};
  trace.allocate(5000);  // a parameter
  Handle latest{};
  for (int step = 0; step < 13; ++step) {
    if (step % period == 1) then(trace, latest);
    if (step % period == 0) latest = trace.allocate(100);
    trace.step(step);
  }
  data = trace.load();
  const Rounds rounds = Rounds::steps(data);
  const GrowingSites growing = growing_sites(data);
  EXPECT_EQ(growing.sites.size(), 1u);
  const OwnUse own_use(data, Holding(data, growing), growing);
  std::vector<std::optional<Sequence>> result;
  for (const Living& living : growing.sites.begin()->second.living) {
    if (living.round > 0) result.push_back(own_use.until(living));
  }
  return result;
}

/// Of the storage that a step after the first has made.
Sequence made_in(const TraceData& data, std::int64_t step) {
  const Rounds rounds = Rounds::steps(data);
  for (const Storage& storage : data.storages) {
    if (rounds.at(storage.span.from_seq) == static_cast<std::size_t>(step)) return storage.span.from_seq;
  }
  return {};
}

TEST(OwnUse, APathIsOnAContainerByItsWholeName) {
  EXPECT_TRUE(is_on("main: rows", "main: rows"));
  EXPECT_TRUE(is_on("main: rows", "main: rows[0]"));
  EXPECT_TRUE(is_on("main: rows", "main: rows.grad_fn"));
  EXPECT_FALSE(is_on("main: rows", "main: rows_2[0]"));
  EXPECT_TRUE(is_on("main: layers[*].maps", "main: layers[2].maps[0]"));
  EXPECT_TRUE(is_on("main: layers[*].maps", "main: layers['a'].maps"));
  EXPECT_FALSE(is_on("main: layers[*].maps", "main: layers[2].mapping"));
  EXPECT_FALSE(is_on("main: layers[*].maps", "main: layers[2]"));
}

TEST(OwnUse, EndsWithTheRoundThatMadeIt) {
  TraceData data;
  const auto until = uses(
      1, [](TestTrace&, Handle) {}, data);
  const Rounds rounds = Rounds::steps(data);
  ASSERT_EQ(until.size(), 12u);
  for (std::size_t i = 0; i < until.size(); ++i) EXPECT_EQ(until[i], rounds.end(i + 1));
}

TEST(OwnUse, AVariableThatAReadingFoundHasItUntilItsNextValue) {
  TraceData data;
  std::vector<Handle> earlier;
  const auto until = uses(
      3,
      [&](TestTrace& trace, Handle latest) {
        trace.begin_reading();
        for (const Handle each : earlier) trace.held(each, kKept);
        trace.held(latest, kKeptAndUsed);
        earlier.push_back(latest);
        trace.drop(trace.allocate(9));
      },
      data);
  ASSERT_EQ(until.size(), 4u);
  EXPECT_EQ(until[0], made_in(data, 6));
  EXPECT_EQ(until[2], made_in(data, 12));
  EXPECT_EQ(until[3], std::nullopt);
}

TEST(OwnUse, EndsWithTheRoundWhereAReadingFoundNothingButWhatKeepsIt) {
  TraceData data;
  std::vector<Handle> all;
  const auto until = uses(
      3,
      [&](TestTrace& trace, Handle latest) {
        all.push_back(latest);
        trace.begin_reading();
        for (const Handle each : all) trace.held(each, kKept);
        trace.drop(trace.allocate(9));
      },
      data);
  const Rounds rounds = Rounds::steps(data);
  ASSERT_EQ(until.size(), 4u);
  EXPECT_EQ(until[0], rounds.end(3));
  EXPECT_EQ(until[3], rounds.end(12));
}

TEST(OwnUse, AnotherNameOfWhatKeepsItIsNoOtherUse) {
  TraceData data;
  std::vector<Handle> all;
  int readings = 0;
  const auto until = uses(
      3,
      [&](TestTrace& trace, Handle latest) {
        all.push_back(latest);
        trace.begin_reading();
        const bool has_returned = ++readings == 4;  // the function whose variable leads there, too
        const std::string name = has_returned ? "app.log.rows" : "main: rows";
        for (const Handle each : all) trace.held(each, {.containers = {name}, .path = name + "[0]"});
      },
      data);
  const Rounds rounds = Rounds::steps(data);
  ASSERT_EQ(until.size(), 4u);
  for (std::size_t i = 0; i < until.size(); ++i) EXPECT_EQ(until[i], rounds.end(3 * (i + 1)));
}

TEST(OwnUse, OfWhatSomeRoundsMakeItIsAssumedToLastUntilTheNext) {
  TraceData data;
  const auto until = uses(
      3, [](TestTrace&, Handle) {}, data);
  ASSERT_EQ(until.size(), 4u);
  EXPECT_EQ(until[1], Sequence(made_in(data, 9).value - 1)) << "the block comes before the storage";
  EXPECT_EQ(until[3], std::nullopt);
}

TEST(OwnUse, IsAsLongAsThatOfOthersThatThePlaceMakesAndNothingKeeps) {
  TestTrace trace;
  trace.stack = {{"train.py", "forward", 7}};
  for (int step = 0; step < 13; ++step) {
    for (const int size : {100, 200}) {
      const bool is_alone = size == 200;
      for (int layer = 0; layer < (is_alone ? 1 : 3); ++layer) {
        const Handle out = trace.allocate(size);
        trace.drop(trace.allocate(9));
        if (layer != 0) trace.drop(out);
      }
    }
    trace.step(step);
  }
  const TraceData data = trace.load();
  const Rounds rounds = Rounds::steps(data);
  const GrowingSites growing = growing_sites(data);
  ASSERT_EQ(growing.sites.size(), 1u);
  const OwnUse own_use(data, Holding(data, growing), growing);
  for (const Living& living : growing.sites.begin()->second.living) {
    if (living.round == 0) continue;
    const std::optional<Sequence> until = own_use.until(living);
    ASSERT_TRUE(until);
    if (living.bytes == Bytes(200)) {
      EXPECT_EQ(until, rounds.end(living.round)) << "there is no other one";
    } else {
      EXPECT_GT(*until, living.storage->span.from_seq);
      EXPECT_LT(until->value, living.storage->span.from_seq.value + 20) << "the next operator's output ends it";
    }
  }
}

TEST(OwnUse, AContainerOnTheWayToAListOfOneIsNoOtherUse) {
  const auto until_with = [](const HeldOf& first) {
    TraceData data;
    std::vector<Handle> all;
    const auto until = uses(
        3,
        [&](TestTrace& trace, Handle latest) {
          all.push_back(latest);
          trace.begin_reading();
          trace.held(latest, first);
          trace.drop(trace.allocate(9));
          trace.begin_reading();
          for (const Handle each : all) trace.held(each, kKept);
          trace.drop(trace.allocate(9));
        },
        data);
    return until.at(0) == Rounds::steps(data).end(3);
  };
  const HeldOf through_the_model{.containers = {"main: model._modules"}, .path = "main: losses[0]"};
  EXPECT_TRUE(until_with(through_the_model)) << "the list had one entry then";
  const HeldOf in_the_model{.containers = {"main: model._modules"}, .path = "main: model._modules['0'].out"};
  EXPECT_FALSE(until_with(in_the_model));
}

TEST(NotKept, NeighboursOfALayerWithAHookHaveItsPlace) {
  TestTrace trace;
  const testing::StackOf own = {{"train.py", "forward", 7}, {"train.py", "main", 20}};
  const std::string torch = "/usr/lib/python3.11/site-packages/torch/nn/modules/";
  const auto stack = [&](const std::vector<std::pair<const char*, int>>& library) {
    testing::StackOf frames;
    for (const auto& [name, line] : library) frames.push_back({torch + name, "call", line});
    frames.insert(frames.end(), own.begin(), own.end());
    return frames;
  };
  for (int step = 0; step < 13; ++step) {
    trace.stack = stack({{"linear.py", 134}, {"module.py", 90}, {"module.py", 80}});
    trace.allocate(100);
    trace.stack = stack({{"linear.py", 134}, {"module.py", 70}});
    for (int layer = 0; layer < 2; ++layer) trace.drop(trace.allocate(100));
    trace.stack = stack({{"activation.py", 30}, {"module.py", 70}});
    for (int layer = 0; layer < 2; ++layer) trace.drop(trace.allocate(200));
    trace.step(step);
  }
  const TraceData data = trace.load();
  const GrowingSites growing = growing_sites(data);
  ASSERT_EQ(growing.sites.size(), 1u);
  const NotKept not_kept(data, growing);
  for (Living living : growing.sites.begin()->second.living) {
    ASSERT_TRUE(not_kept.until(living));
    EXPECT_LT(*not_kept.until(living), living.round_end);
    living.round_begin = living.round_end;
    living.round_end = Sequence(living.round_begin.value + 1);
    EXPECT_FALSE(not_kept.until(living)) << "a round that has none";
  }
}

/// A program that evaluates every third step: of four outputs, a list keeps the first two and a variable all until the
/// next evaluation. It evaluates once more after its last step.
TEST(GrowingSites, AListMayKeepSomeOfWhatAPlaceMakes) {
  TestTrace trace;
  trace.stack = {{"train.py", "forward", 7}};
  std::vector<Handle> latest;
  const auto evaluate = [&] {
    std::vector<Handle> made;
    for (int i = 0; i < 4; ++i) made.push_back(trace.allocate(100));
    for (const Handle each : latest) trace.drop(each);
    latest = {made[2], made[3]};
  };
  for (int step = 0; step < 18; ++step) {
    if (step % 3 == 2) evaluate();
    trace.step(step);
  }
  evaluate();
  const TraceData data = trace.load();
  const GrowingSites growing = growing_sites(data);
  ASSERT_EQ(growing.sites.size(), 1u);
  const OutlivingSite& site = growing.sites.begin()->second;
  // At the last birth, the variable has the values of the last two evaluations.
  EXPECT_EQ(std::ranges::count(site.living, 2u, [](const Living& each) { return each.position.of; }), 2 * 5);
  EXPECT_EQ(std::ranges::count(site.living, 4u, [](const Living& each) { return each.position.of; }), 2 * 4);
}

}  // namespace
}  // namespace dcmt::analyzer
