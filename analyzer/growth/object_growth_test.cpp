#include "analyzer/growth/object_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace dcmt::analyzer {
namespace {

/// At readings whose distances grow, as those of a recorder.
bool grows(const std::function<double(double)>& entries, double factor = 1.25) {
  std::vector<EntriesAt> readings;
  for (double at = 10; at < 1000; at *= factor) readings.push_back({at, entries(at)});
  readings.push_back({1000, entries(1000)});
  return keeps_growing(readings);
}

TEST(KeepsGrowing, WhatEachPartAddsTo) {
  EXPECT_TRUE(grows([](double at) { return at; }));
  EXPECT_TRUE(grows([](double at) { return 5000 + std::floor(at / 100); })) << "some readings find nothing new";
  EXPECT_TRUE(grows([](double at) { return std::sqrt(at); })) << "new ones become fewer, and do not end";
  EXPECT_TRUE(grows([](double at) { return at * at; }));
  EXPECT_TRUE(grows([](double at) { return at + 20 * std::sin(at); })) << "some entries are removed";
  EXPECT_TRUE(grows([](double at) { return at; }, 1.5));
}

/// Where readings cost much, most are at the begin, and one at the end. Other work slowed the program for a while.
TEST(KeepsGrowing, WhereAReadingNearABoundIsSoonAfterTheOneBefore) {
  const std::vector<EntriesAt> readings = {{0, 153},      {0.33, 3052}, {0.9, 6621},  {1.37, 8283},
                                           {1.83, 10231}, {2.2, 12457}, {2.9, 13509}, {7.6, 30000}};
  EXPECT_TRUE(keeps_growing(readings));
}

TEST(KeepsGrowing, NotWhatStopsOrIsEmptied) {
  EXPECT_FALSE(grows([](double) { return 40'000; })) << "built once";
  EXPECT_FALSE(grows([](double at) { return std::min(at, 600.0); })) << "a cache that is full";
  EXPECT_FALSE(grows([](double at) { return std::min(at, 900.0); })) << "one that was full just now";
  EXPECT_FALSE(grows([](double at) { return 30'000 * (1 - std::exp(-at / 150)); })) << "a vocabulary";
  EXPECT_FALSE(grows([](double at) { return std::fmod(at, 300); })) << "emptied each epoch";
  EXPECT_FALSE(grows([](double at) { return at < 900 ? 10 : 10 * at; })) << "of the last tenth";
  EXPECT_FALSE(grows([](double at) { return 2000 - at; }));
  EXPECT_FALSE(grows([](double at) { return at < 990 ? at : 0; })) << "emptied at the end";
}

TEST(KeepsGrowing, NotOfFewReadings) {
  EXPECT_FALSE(keeps_growing({}));
  const std::vector<EntriesAt> few = {{0, 100}, {1, 200}, {2, 300}};
  EXPECT_FALSE(keeps_growing(few));
  const std::vector<EntriesAt> enough = {{0, 100}, {1, 200}, {2, 300}, {3, 400}};
  EXPECT_TRUE(keeps_growing(enough));
  const std::vector<EntriesAt> together = {{0, 100}, {0.01, 200}, {0.02, 300}, {3, 400}};
  EXPECT_FALSE(keeps_growing(together)) << "nothing is known of the parts between";
}

TEST(ObjectGrowth, WhatAnEntryLeadsToIsBelowIt) {
  EXPECT_TRUE(is_below("main: users[*].log", "main: users"));
  EXPECT_TRUE(is_below("main.Probe.seen", "main.Probe"));
  EXPECT_FALSE(is_below("main: users", "main: users"));
  EXPECT_FALSE(is_below("main: users_by_name", "main: users"));
}

}  // namespace
}  // namespace dcmt::analyzer
