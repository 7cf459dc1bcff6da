#include "analyzer/model/prediction_bounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr int kTurns = 40;

/// A list keeps something at each turn.
struct Keeping {
  TestTrace trace;
  std::vector<StorageId> kept;
  std::string sums;  ///< storages that are sums of small ones
  std::string_view type = "list";
  std::optional<bool> by_round;  ///< each is needed until the next but one

  explicit Keeping(const std::function<void(Keeping&, int turn)>& beside) {
    for (int turn = 0; turn < kTurns; ++turn) {
      kept.push_back(trace.storage_id(trace.allocate(1000)));
      beside(*this, turn);
    }
  }
  Handle sum(std::int64_t bytes) {
    const Handle sum = trace.allocate(bytes);
    sums += (sums.empty() ? "" : ", ") + std::to_string(trace.storage_id(sum).value);
    return sum;
  }
  /// @param part  what goes with it of the sum that has so many bytes
  PredictedAs as(bool is_used = false, const std::function<std::int64_t(std::int64_t)>& part = {}) {
    const TraceData data =
        trace.load(sums.empty() ? ""
                                : "INSERT INTO string(id, text) SELECT max(id) + 1, 'under 64 KiB, not followed' FROM "
                                  "string; UPDATE block SET owner = (SELECT max(id) FROM string) WHERE storage IN (" +
                                      sums + ")");
    std::vector<Gap> gaps;
    std::vector<Finding> findings(1);
    findings[0].device = devices_of(data).front();
    Growth& growth = findings[0].growth.emplace();
    growth.holder = "main: rows";
    growth.type = type;
    for (const StorageId each : kept) {
      const Sequence birth = data.storages.find(each)->span.from_seq, until(by_round ? birth.value + 6 : birth.value);
      growth.storages.push_back({.storage = each,
                                 .bytes = Bytes(1000),
                                 .needed_until = until,
                                 .frees = true,
                                 .by_round = by_round.value_or(false)});
      for (const Block* block : data.blocks_by_storage.of(each)) gaps.push_back({block, until, {}});
    }
    for (const auto& [begin, block] : data.blocks_by_begin) {
      const std::int64_t of_sum = part && block->bytes.value > 1000 ? part(block->bytes.value) : 0;
      if (of_sum > 0) gaps.push_back({.block = block, .from = begin, .to = {}, .part = Bytes(of_sum)});
    }
    if (is_used) growth.used_at.emplace_back();
    return predicted_as(data, gaps, findings, peak_of(data, findings[0].device, gaps), growth);
  }
};

void drops_as_much(Keeping& program, int /*turn*/) { program.trace.drop(program.trace.allocate(3000)); }

TEST(PredictionBounds, WhereAllTurnsAreAlikeItIsTheValueOrTheLeastIfItIsUsed) {
  EXPECT_EQ(Keeping(drops_as_much).as(), PredictedAs::kValue);
  EXPECT_EQ(Keeping(drops_as_much).as(true), PredictedAs::kLeast);
}

TEST(PredictionBounds, WhereSomethingElseGrowsOrTheWorkDoesItIsTheMost) {
  const auto keeps = [](Keeping& program, int) { program.trace.allocate(100); };
  EXPECT_EQ(Keeping(keeps).as(), PredictedAs::kMost);
  EXPECT_EQ(Keeping(keeps).as(true), PredictedAs::kMost);
  const auto works = [](Keeping& program, int turn) { program.trace.drop(program.trace.allocate(1000 + 50 * turn)); };
  EXPECT_EQ(Keeping(works).as(), PredictedAs::kMost);
  EXPECT_EQ(Keeping(works).as(true), PredictedAs::kAbout) << "what is used has to stay, too";
}

/// As copies of weights, which an entry of the list replaces later.
TEST(PredictionBounds, WhatOnlyTheHolderHasAtThatPeakMayGoWithIt) {
  for (const bool otherwise : {false, true}) {
    Handle copy = 0;
    Keeping program([&](Keeping& self, int turn) {
      if (turn == 10) {
        copy = self.trace.allocate(800);
        self.trace.held(
            copy, {.containers = {"main: rows[3].best"}, .path = "main: rows[3].best[0]", .otherwise = otherwise});
      }
      drops_as_much(self, turn);
      if (turn == 20) self.trace.drop(copy);
    });
    EXPECT_EQ(program.as(), otherwise ? PredictedAs::kValue : PredictedAs::kMost);
  }
}

/// The small storages that go with the growth are sums, which rise from the begin on.
TEST(PredictionBounds, SmallOnesThatStayAreLeftOutAtThePeakAsAtTheEnd) {
  const auto program = [] {
    return Keeping([sum = Handle(0)](Keeping& self, int turn) mutable {
      if (turn > 0) self.trace.drop(sum);
      sum = self.sum(20000 + 200 * turn);
      self.trace.drop(self.trace.allocate(turn == 20 ? 900 : 500));
    });
  };
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum - 20000; }), PredictedAs::kValue);
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum > 25000 ? sum - 20000 : 0; }), PredictedAs::kMost)
      << "they are left out late only";
}

/// A peak that later turns do not reach, because they have less that is estimated, or that is not.
TEST(PredictionBounds, AnEarlyPeakOfWhatIsEstimatedIsNotTheValue) {
  for (const bool is_estimated : {true, false}) {
    Keeping program([&, sum = Handle(0)](Keeping& self, int turn) mutable {
      if (turn == 0) sum = self.sum(1500);
      if (turn == 8 && is_estimated) {
        self.trace.drop(sum);
        self.sum(1000);
      }
      self.trace.drop(self.trace.allocate(turn == 5 && !is_estimated ? 3500 : 3000));
    });
    EXPECT_EQ(program.as(), is_estimated ? PredictedAs::kAbout : PredictedAs::kValue);
    EXPECT_EQ(program.as(true), is_estimated ? PredictedAs::kAbout : PredictedAs::kLeast);
  }
}

TEST(PredictionBounds, WhatIsOfAGrowingPlaceButOfNoFindingMayGoToo) {
  Keeping program(drops_as_much);
  program.trace.stack = {{"train.py", "main", 3}};
  program.kept.erase(program.kept.begin() + 10, program.kept.begin() + 20);
  EXPECT_EQ(program.as(), PredictedAs::kMost);
}

TEST(PredictionBounds, OfObjectsThatLeadToTheOneBeforeTheLatestStays) {
  Keeping program(drops_as_much);
  program.type = "tuple";
  EXPECT_EQ(program.as(), PredictedAs::kAbout);
}

TEST(PredictionBounds, WhatGoesOfManySmallOnesIsNotTheValue) {
  const auto program = [] {
    return Keeping([sum = Handle(0)](Keeping& self, int turn) mutable {
      if (turn == 0) sum = self.sum(4000);
      self.trace.drop(self.trace.allocate(2000));
    });
  };
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum / 10; }), PredictedAs::kValue);
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum / 2; }), PredictedAs::kAbout);
}

TEST(PredictionBounds, WhatOnlyItsRoundSaysIsNeededAtThatPeakMayGoSooner) {
  Keeping program(drops_as_much);
  for (const bool by_round : {true, false}) {
    program.by_round = by_round;
    EXPECT_EQ(program.as(), by_round ? PredictedAs::kMost : PredictedAs::kValue);
  }
}

}  // namespace
}  // namespace dcmt::analyzer
