#include "analyzer/storages/one_by_one.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Each step makes some batches, then drops some: both by their numbers, and ends.
struct MadeAndDropped {
  std::vector<int> made, dropped;
};

bool one_by_one(const std::vector<MadeAndDropped>& steps) {
  TestTrace trace;
  std::map<int, TestTrace::Handle> batches;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int batch : steps[i].made) batches.emplace(batch, trace.allocate(100));
    for (const int batch : steps[i].dropped) trace.drop(batches.at(batch));
    trace.step(static_cast<std::int64_t>(i));
  }
  const TraceData data = trace.load();
  std::vector<const Storage*> alike;
  for (const Storage& storage : data.storages) alike.push_back(&storage);
  return replaced_one_by_one(alike, steps_of(data));
}

TEST(ReplacedOneByOne, EachStepDropsThatOfTheStepBefore) {
  EXPECT_TRUE(one_by_one({{{0}, {}}, {{1}, {0}}, {{2}, {1}}, {{3}, {2}}}));
  EXPECT_FALSE(one_by_one({{{0}, {}}, {{1}, {0}}, {{2}, {1}}})) << "two are too few";
}

TEST(ReplacedOneByOne, BatchesMayBeReceivedBeforeTheirTurn) {
  EXPECT_TRUE(one_by_one(
      {{{0}, {}}, {{2, 4, 1}, {0}}, {{}, {1}}, {{3}, {2}}, {{}, {3}}, {{5}, {4}}, {{6}, {5}}, {{7}, {6}}, {{8}, {7}}}));
  EXPECT_TRUE(one_by_one({{{0, 1}, {}}, {{2, 3}, {0, 1}}, {{4, 5}, {2, 3}}, {{6, 7}, {4, 5}}})) << "two a step";
}

TEST(ReplacedOneByOne, OneThatIsKeptForLongerIsSomethingElse) {
  EXPECT_FALSE(one_by_one({{{0}, {}}, {{1}, {0}}, {{2}, {}}, {{3}, {2}}, {{4}, {1, 3}}, {{5}, {4}}, {{6}, {5}}}));
}

TEST(ReplacedOneByOne, OneThatIsKeptToTheEndIsSomethingElse) {
  EXPECT_TRUE(one_by_one({{{0}, {}}, {{1}, {0}}, {{2}, {1}}, {{3}, {2}}, {{4}, {3}}}));
  EXPECT_FALSE(one_by_one({{{0, 9}, {}}, {{1}, {0}}, {{2}, {1}}, {{3}, {2}}, {{4}, {3}}}));
}

TEST(ReplacedOneByOne, ABufferOfFixedLengthIsSomethingElse) {
  EXPECT_FALSE(one_by_one({{{0}, {}}, {{1}, {}}, {{2}, {0}}, {{3}, {1}}, {{4}, {2}}, {{5}, {3}}}));
}

/// As in one_by_one(), but each step drops that of the step before at its begin.
TEST(ReplacedOneByOne, WhatIsDroppedBeforeTheNextIsThereIsNotReplaced) {
  TestTrace trace;
  std::vector<TestTrace::Handle> batches;
  for (int i = 0; i < 6; ++i) {
    if (i > 0) trace.drop(batches.back());
    batches.push_back(trace.allocate(100));
    trace.step(i);
  }
  const TraceData data = trace.load();
  std::vector<const Storage*> alike;
  for (const Storage& storage : data.storages) alike.push_back(&storage);
  EXPECT_FALSE(replaced_one_by_one(alike, steps_of(data)));
}

}  // namespace
}  // namespace dcmt::analyzer
