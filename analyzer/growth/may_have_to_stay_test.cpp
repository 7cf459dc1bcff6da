#include "analyzer/growth/may_have_to_stay.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/growth/rounds.h"
#include "analyzer/testing/test_trace.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

constexpr std::int64_t kBytes = 100'000;

/// At each of 40 steps, one storage is kept, and one of the same place dropped so many steps later.
struct Queue {
  std::int64_t dropped_after = 0;  ///< 0: nothing else is made there
  std::int64_t needed_for = 1;     ///< steps
  std::string holder = "main: queue.heap", path = {};

  [[nodiscard]] bool may_stay(std::int64_t much = kBytes) const {
    constexpr std::int64_t kSteps = 40;
    TestTrace trace;
    trace.stack = {{"train.py", "push", 3}};
    std::vector<TestTrace::Handle> kept, passing;
    std::vector<Sequence> ends;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      kept.push_back(trace.allocate(kBytes));
      if (!path.empty()) trace.held(kept.back(), {.path = path});
      if (dropped_after > 0) {
        passing.push_back(trace.allocate(kBytes));
        if (step >= dropped_after) trace.drop(passing[static_cast<std::size_t>(step - dropped_after)]);
      }
      trace.step(step);
    }
    const TraceData data = trace.load();
    const Rounds rounds = Rounds::steps(data);
    for (std::size_t i = 0; i < rounds.size(); ++i) ends.push_back(rounds.end(i));
    Growth growth;
    growth.holder = holder;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::size_t last = i + static_cast<std::size_t>(needed_for) - 1;
      if (last >= ends.size()) break;
      growth.storages.push_back({trace.storage_id(kept[i]), Bytes(kBytes), ends[last], true, true});
    }
    return may_have_to_stay(data, growth, Sequence(ends[20].value - 1), much);
  }
};

TEST(MayHaveToStay, WhatTheProgramTakesOutLaterSaysThatEntriesAreOfUse) {
  EXPECT_TRUE(Queue{.dropped_after = 6}.may_stay());
  EXPECT_FALSE(Queue{.dropped_after = 6}.may_stay(100 * kBytes)) << "too little to matter";
  EXPECT_FALSE(Queue{.dropped_after = 1}.may_stay()) << "a variable had it";
  EXPECT_FALSE((Queue{.dropped_after = 6, .needed_for = 7}.may_stay())) << "no longer than is said of the kept ones";
  EXPECT_FALSE(Queue().may_stay());
}

TEST(MayHaveToStay, HowLongAWindowIsReadingsSayOnlyAbout) {
  EXPECT_TRUE(Queue{.needed_for = 12}.may_stay());
  EXPECT_FALSE(Queue{.needed_for = 3}.may_stay());
}

TEST(MayHaveToStay, AFrozenCycleStaysUntilTheCollectorFreesIt) {
  const std::string cycle = "cycle Node.next → Node.last → Node";
  const auto stays = [&](std::string_view why) {
    return Queue{.dropped_after = 6, .holder = cycle, .path = cycle + std::string(why)}.may_stay();
  };
  EXPECT_TRUE(stays(cycle_text::kFrozen));
  EXPECT_FALSE(stays(cycle_text::kThroughNodes)) << "what the collector freed was garbage, not of use";
}

}  // namespace
}  // namespace dcmt::analyzer
