#include "analyzer/model/prediction_bounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
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
    growth.type = "list";
    for (const StorageId each : kept) {
      growth.storages.push_back({.storage = each, .bytes = Bytes(1000), .needed_until = {}});
      for (const Block* block : data.blocks_by_storage.of(each)) gaps.push_back({block, block->span.from_seq, {}});
    }
    for (const auto& [begin, block] : data.blocks_by_begin) {
      const std::int64_t of_sum = part && block->bytes.value > 1000 ? part(block->bytes.value) : 0;
      if (of_sum > 0) gaps.push_back({.block = block, .from = begin, .to = {}, .part = Bytes(of_sum)});
    }
    return predicted_as(data, gaps, findings, peak_of(data, findings[0].device, gaps), is_used);
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
      sum = self.sum(2000 + 200 * turn);
      self.trace.drop(self.trace.allocate(turn == 20 ? 900 : 500));
    });
  };
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum - 2000; }), PredictedAs::kValue);
  EXPECT_EQ(program().as(false, [](std::int64_t sum) { return sum > 7000 ? sum - 2000 : 0; }), PredictedAs::kMost)
      << "they are left out late only";
}

}  // namespace
}  // namespace dcmt::analyzer
