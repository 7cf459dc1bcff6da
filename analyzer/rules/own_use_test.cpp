#include "analyzer/rules/own_use.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

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
  const Rounds rounds(data);
  const auto sites = growing_sites(data, rounds);
  EXPECT_EQ(sites.size(), 1u);
  const OwnUse own_use(data, rounds, sites);
  std::vector<std::optional<Sequence>> result;
  for (const Living& living : sites.begin()->second.living) {
    if (living.round > 0) result.push_back(own_use.until(living));
  }
  return result;
}

/// Of the storage that a step after the first has made.
Sequence made_in(const TraceData& data, std::int64_t step) {
  const Rounds rounds(data);
  for (const Storage& storage : data.storages) {
    if (rounds.at(storage.span.from_seq) == static_cast<std::size_t>(step)) return storage.span.from_seq;
  }
  return {};
}

TEST(OwnUse, EndsWithTheRoundThatMadeIt) {
  TraceData data;
  const auto until = uses(
      1, [](TestTrace&, Handle) {}, data);
  const Rounds rounds(data);
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
  const auto until = uses(
      3,
      [](TestTrace& trace, Handle latest) {
        trace.begin_reading();
        trace.held(latest, kKept);
        trace.drop(trace.allocate(9));
      },
      data);
  const Rounds rounds(data);
  ASSERT_EQ(until.size(), 4u);
  EXPECT_EQ(until[0], rounds.end(3));
  EXPECT_EQ(until[3], rounds.end(12));
}

TEST(OwnUse, OfWhatSomeRoundsMakeItIsAssumedToLastUntilTheNext) {
  TraceData data;
  const auto until = uses(
      3, [](TestTrace&, Handle) {}, data);
  ASSERT_EQ(until.size(), 4u);
  EXPECT_EQ(until[1], Sequence(made_in(data, 9).value - 1)) << "the block comes before the storage";
  EXPECT_EQ(until[3], std::nullopt);
}

}  // namespace
}  // namespace dcmt::analyzer
