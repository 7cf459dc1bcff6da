#include "analyzer/time/still_rises.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

using ByTurn = std::function<std::int64_t(int)>;

/// 40 turns; `kept` says how much each keeps, beside what it drops. The gaps leave out the first thing of each turn.
Rises rises_with(const ByTurn& kept, const ByTurn& dropped) {
  TestTrace trace;
  std::vector<StorageId> left_out;
  for (int turn = 0; turn < 40; ++turn) {
    left_out.push_back(trace.storage_id(trace.allocate(1000)));
    if (kept(turn) > 0) trace.allocate(kept(turn));
    trace.drop(trace.allocate(dropped(turn)));
  }
  const TraceData data = trace.load();
  std::vector<Gap> gaps;
  for (const StorageId each : left_out) {
    for (const Block* block : data.blocks_by_storage.of(each)) gaps.push_back({block, block->span.from_seq, {}});
  }
  return still_rises(data, devices_of(data).front(), gaps, Sequence(1), Sequence(trace.last_seq()));
}

bool rises(const ByTurn& kept) {
  return rises_with(kept, [](int) { return 3000; }).least;
}

TEST(StillRises, WhatEachTurnKeepsBeside) {
  EXPECT_TRUE(rises([](int) { return 100; }));
  EXPECT_TRUE(rises([](int turn) { return turn % 3 == 0 ? 300 : 0; }));
  EXPECT_FALSE(rises([](int) { return 0; }));
}

TEST(StillRises, NotWhatFillsOrGoesUpOnceOrIsLittle) {
  EXPECT_FALSE(rises([](int turn) { return turn < 12 ? 1000 : 0; })) << "a cache that fills in the beginning";
  EXPECT_FALSE(rises([](int turn) { return turn == 24 ? 9000 : 0; })) << "another phase";
  EXPECT_FALSE(rises([](int) { return 10; })) << "400 of 3,400 bytes, half of them in the last two quarters";
}

TEST(StillRises, WorkThatTakesMoreAndMore) {
  const auto nothing = [](int) { return 0; };
  const Rises rises = rises_with(nothing, [](int turn) { return 1000 + 50 * turn; });
  EXPECT_FALSE(rises.least);
  EXPECT_TRUE(rises.most);
  EXPECT_FALSE(rises_with(nothing, [](int turn) { return turn % 5 == 0 ? 3000 : 1000; }).most);
}

}  // namespace
}  // namespace dcmt::analyzer
