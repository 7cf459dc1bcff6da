#include "analyzer/growth/same_ways.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Which of so many storages are freed, to which the latest reading found these ways.
std::vector<bool> freed(int count, const std::function<std::vector<std::string>(int)>& ways_to) {
  TestTrace trace;
  Growth growth;
  std::vector<TestTrace::Handle> made;
  for (int i = 0; i < count; ++i) {
    made.push_back(trace.allocate(100));
    growth.storages.push_back({trace.storage_id(made.back()), Bytes(100), Sequence(trace.last_seq()), false, false});
  }
  trace.begin_reading();
  for (int i = 0; i < count; ++i) {
    for (const std::string& way : ways_to(i)) trace.held(made[i], {.path = way, .otherwise = true});
  }
  growth.storages.front().needed_until = {};  // to the end
  const TraceData data = trace.load();
  growth.holder = "main: rows";
  free_what_the_same_ways_lead_to(data, true, growth);
  std::vector<bool> freed;
  for (const GrowingStorage& each : growth.storages) freed.push_back(each.frees);
  return freed;
}

std::string entry(int i) { return "main: rows[" + std::to_string(i) + "].obj.base"; }

TEST(SameWays, WhatOneWayLeadsToGoesTogetherUnlessItIsNeeded) {
  EXPECT_EQ(freed(4, [](int i) { return std::vector{entry(i)}; }), (std::vector{false, true, true, true}));
}

TEST(SameWays, SeveralWaysToAllAreOneCause) {
  const auto ways = [](int i) { return std::vector<std::string>{entry(i), "watch: batch"}; };
  EXPECT_EQ(freed(4, ways), (std::vector{false, true, true, true}));
}

TEST(SameWays, WhatElseLeadsToOneHasIt) {
  const auto ways = [](int i) {
    std::vector<std::string> all{entry(i)};
    if (i == 11) all.emplace_back("main: latest");
    return all;
  };
  const std::vector<bool> all = freed(12, ways);
  EXPECT_TRUE(all[10]);
  EXPECT_FALSE(all[11]);
}

TEST(SameWays, NothingIsSaidWhereWaysDifferOrFewWereRead) {
  const std::vector<bool> none(4, false);
  const auto differ = [](int i) { return std::vector<std::string>{i % 2 == 0 ? entry(i) : "main: latest"}; };
  EXPECT_EQ(freed(4, differ), none);
  const auto few = [](int i) { return i == 1 ? std::vector{entry(i)} : std::vector<std::string>(); };
  EXPECT_EQ(freed(4, few), none);
  const auto is_entry = [](int i) { return std::vector{"main: rows[" + std::to_string(i) + "]"}; };
  EXPECT_EQ(freed(4, is_entry), none) << "something that was not found has a reference, too";
  const auto cycle = [](int) { return std::vector<std::string>{"cycle A.b → B.a → A"}; };
  EXPECT_EQ(freed(4, cycle), none);
}

}  // namespace
}  // namespace dcmt::analyzer
