#include "analyzer/ranks/rank_memory.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;

/// A loop in which each output replaces the one before; some ranks keep every output.
struct Loop {
  std::int64_t rank = 0, steps = 6, output = kMiB;
  bool keeps = false;
  std::int64_t model = 4 * kMiB;
};

RankMemory memory_of(const Loop& loop) {
  TestTrace trace;
  trace.meta_integers["rank"] = loop.rank;
  trace.stack = {{"/home/user/two.py", "main", 4}};
  trace.allocate(loop.model);
  std::optional<TestTrace::Handle> last;
  for (std::int64_t step = 1; step <= loop.steps; ++step) {
    trace.stack = {{"/home/user/two.py", "main", 9}};
    const TestTrace::Handle output = trace.allocate(loop.output);
    if (last && !loop.keeps) trace.drop(*last);
    last = output;
    trace.begin_reading();
    trace.held(output, loop.keeps ? HeldOf{.containers = {"main: log"}, .path = "main: log[0]"}
                                  : HeldOf{.path = "main: out", .otherwise = true});
    trace.stack = {{"/home/user/two.py", "main", 10}};
    trace.drop(trace.allocate(1000));
    trace.step(step);
  }
  const TraceData data = trace.load();
  return rank_memory(analyze(data));
}

std::optional<MemoryDifference> compare(const std::vector<Loop>& loops) {
  std::vector<RankMemory> ranks;
  for (const Loop& loop : loops) ranks.push_back(memory_of(loop));
  std::vector<const RankMemory*> pointers;
  for (const RankMemory& rank : ranks) pointers.push_back(&rank);
  return compare_memory(pointers);
}

TEST(RankMemoryTest, WhatARankHadByPlace) {
  const RankMemory memory = memory_of({.rank = 3, .steps = 3});
  EXPECT_EQ(memory.rank, 3);
  EXPECT_EQ(memory.peak, Bytes(6 * kMiB)) << "two outputs for a moment";
  EXPECT_EQ(memory.steps, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(memory.ends, (std::vector<Bytes>(3, Bytes(5 * kMiB))));
  ASSERT_EQ(memory.places.size(), 2u) << "what is gone at the end of every step and at the peak has no place";
  EXPECT_EQ(memory.places[1].site, "user/two.py:9 main");
  EXPECT_EQ(memory.places[1].at_peak, Bytes(2 * kMiB));
  EXPECT_EQ(memory.places[1].at_ends, (std::vector<std::pair<std::int64_t, Bytes>>{{1, Bytes(kMiB)}}));
}

TEST(RankMemoryTest, TheRankThatKeepsItsOutputsAndTheLineThatMakesThem) {
  const auto difference = compare({{.rank = 0}, {.rank = 1, .keeps = true}, {.rank = 2}});
  ASSERT_TRUE(difference);
  ASSERT_EQ(difference->peaks.size(), 2u);
  EXPECT_EQ(difference->peaks[0].ranks, Ranks{1});
  EXPECT_EQ(difference->peaks[0].bytes, Bytes(10 * kMiB + 1000));
  EXPECT_EQ(difference->peaks[1].ranks, (Ranks{0, 2}));
  EXPECT_EQ(difference->peaks[1].bytes, Bytes(6 * kMiB));
  ASSERT_EQ(difference->growth.size(), 2u);
  EXPECT_EQ(difference->growth[0].ranks, Ranks{1});
  EXPECT_EQ(difference->growth[0].bytes_a_step, kMiB);
  EXPECT_EQ(difference->growth[1].bytes_a_step, 0);
  EXPECT_EQ(difference->first, 1);
  EXPECT_EQ(difference->last, 6);
  ASSERT_FALSE(difference->places.empty());
  const MemoryDifference::Place& place = difference->places.front();
  EXPECT_EQ(place.site, "user/two.py:9 main");
  EXPECT_EQ(place.holder, "main: log");
  EXPECT_EQ(place.from_step, 2) << "the first output is alive at the end of its step on all ranks";
  EXPECT_EQ(place.sides[0].bytes, Bytes(6 * kMiB));
  EXPECT_EQ(place.sides[1].bytes, Bytes(2 * kMiB));
}

TEST(RankMemoryTest, RanksThatAreAlikeOrNearlySo) {
  EXPECT_FALSE(compare({{.rank = 0}, {.rank = 1}}));
  EXPECT_FALSE(compare({{.rank = 0}}));
  EXPECT_FALSE(compare({{.rank = 0}, {.rank = 1, .model = 4 * kMiB + kMiB - 1}})) << "less than 1 MiB";
  EXPECT_TRUE(compare({{.rank = 0}, {.rank = 1, .model = 4 * kMiB + kMiB}}));
  EXPECT_FALSE(compare({{.rank = 0, .model = 100 * kMiB}, {.rank = 1, .model = 102 * kMiB}}))
      << "less than a twentieth";
  EXPECT_TRUE(compare({{.rank = 0, .model = 100 * kMiB}, {.rank = 1, .model = 110 * kMiB}}));
}

TEST(RankMemoryTest, GrowthAloneIsADifference) {
  const auto difference =
      compare({{.rank = 0, .output = 1000}, {.rank = 1, .steps = 40, .output = kMiB / 10, .keeps = true}});
  ASSERT_TRUE(difference) << "peaks differ too, but only the first six steps are common";
  EXPECT_EQ(difference->last, 6);
  EXPECT_EQ(difference->growth[0].ranks, Ranks{1});
  EXPECT_FALSE(compare({{.rank = 0, .steps = 1}, {.rank = 1, .steps = 1, .keeps = true}}))
      << "one step shows no growth";
}

TEST(RankMemoryTest, WithoutStepsPeaksCompare) {
  const auto difference = compare({{.rank = 0, .steps = 0}, {.rank = 1, .steps = 0, .model = 8 * kMiB}});
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->growth.empty());
  EXPECT_EQ(difference->places.front().site, "user/two.py:4 main");
  EXPECT_FALSE(difference->places.front().from_step);
}

TEST(RankMemoryTest, PeaksThatNobodyWouldDistinguishAreOne) {
  MemoryDifference memory;
  memory.peaks = {{{3}, Bytes(40 * kMiB)},
                  {{5}, Bytes(39 * kMiB)},
                  {{0}, Bytes(38 * kMiB)},
                  {{1, 2}, Bytes(20 * kMiB)},
                  {{4}, Bytes(20 * kMiB - 8)}};
  const std::vector<BytesOfRanks> apart = peaks_apart(memory);
  ASSERT_EQ(apart.size(), 3u);
  EXPECT_EQ(apart[0].ranks, (Ranks{3, 5}));
  EXPECT_EQ(apart[0].bytes, Bytes(40 * kMiB));
  EXPECT_EQ(apart[1].ranks, (Ranks{0})) << "a twentieth less than the highest";
  EXPECT_EQ(apart[2].ranks, (Ranks{1, 2, 4}));
  EXPECT_EQ(apart[2].bytes, Bytes(20 * kMiB));
}

}  // namespace
}  // namespace dcmt::analyzer
