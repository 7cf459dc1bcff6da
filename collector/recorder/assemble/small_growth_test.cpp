#include "collector/recorder/assemble/small_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace dcmt::recorder {
namespace {

constexpr std::size_t kLeak = size_class_of(4096), kOther = size_class_of(8192);

/// Runs a program's steps, a tenth of a second each. Returns the tracked classes, and the step of the first.
struct Followed {
  std::vector<std::size_t> classes;
  int step = 0;
  int readings = 0;
};
Followed run(int steps, const std::function<void(int step, BytesBySize& live)>& each) {
  SmallGrowth growth;
  BytesBySize live{};
  Followed followed;
  for (int step = 1; step <= steps; ++step) {
    each(step, live);
    std::int64_t sum = 0;
    for (const std::int64_t bytes : live) sum += bytes;
    const SmallBlocksThen then{step, sum};
    if (!growth.is_due(0.1 * step, then)) continue;
    ++followed.readings;
    const std::vector<std::size_t> more = growth.add_reading(0.1 * step, then, live);
    if (!more.empty() && followed.step == 0) followed.step = step;
    followed.classes.insert(followed.classes.end(), more.begin(), more.end());
  }
  return followed;
}

TEST(SmallGrowthTest, ASizeOfWhichEachStepKeepsOneIsFollowedOnce) {
  const Followed followed = run(1000, [](int, BytesBySize& live) { live[kLeak] += 4096; });
  EXPECT_EQ(followed.classes, std::vector<std::size_t>{kLeak});
  EXPECT_LE(followed.step, 80) << "4 times 64 KiB";
}

/// Classes that are tracked of a program without steps, which is sampled every hundredth of a second.
std::vector<std::size_t> without_steps(double seconds, const std::function<std::int64_t(double now)>& bytes) {
  SmallGrowth growth;
  std::vector<std::size_t> classes;
  for (int i = 1; 0.01 * i <= seconds; ++i) {
    BytesBySize live{};
    live[kLeak] = bytes(0.01 * i);
    const SmallBlocksThen then{0, live[kLeak]};
    if (!growth.is_due(0.01 * i, then)) continue;
    std::ranges::copy(growth.add_reading(0.01 * i, then, live), std::back_inserter(classes));
  }
  return classes;
}

TEST(SmallGrowthTest, WithoutStepsWhatBecomesMoreThroughoutTheRunIsFollowed) {
  const auto leak = [](double now) { return static_cast<std::int64_t>(now * 1e6); };
  EXPECT_EQ(without_steps(2, leak), std::vector<std::size_t>{kLeak});
  EXPECT_TRUE(without_steps(20, [&](double now) { return leak(std::min(now, 0.05)); }).empty()) << "made at the begin";
  EXPECT_TRUE(without_steps(20, [&](double now) { return leak(std::fmod(now, 0.05)); }).empty()) << "comes and goes";
}

TEST(SmallGrowthTest, WhatIsMadeBeforeTheFirstStepsIsNotComparedWithThem) {
  SmallGrowth growth;
  BytesBySize live{};
  std::size_t followed = 0;
  for (int i = 1; i <= 7; ++i) {
    live[kLeak] += 1 << 20;
    const SmallBlocksThen then{i <= 3 ? 0 : i, live[kLeak]};
    ASSERT_TRUE(growth.is_due(i, then));
    followed += growth.add_reading(i, then, live).size();
  }
  EXPECT_EQ(followed, 0u) << "three readings after the first with steps";
}

TEST(SmallGrowthTest, ThereIsTimeBetweenTwoReadings) {
  SmallGrowth growth;
  const BytesBySize live{};
  growth.add_reading(1, {2, 0}, live);
  EXPECT_FALSE(growth.is_due(1.03, {3, 1 << 30})) << "a thirty-second of the run";
  EXPECT_TRUE(growth.is_due(1.04, {3, 1 << 30}));
  SmallGrowth early;
  early.add_reading(0.01, {2, 0}, live);
  EXPECT_FALSE(early.is_due(0.029, {3, 1 << 30})) << "20 ms";
  EXPECT_TRUE(early.is_due(0.031, {3, 1 << 30}));
}

TEST(SmallGrowthTest, WhatStaysOrComesAndGoesIsNotFollowed) {
  const Followed followed = run(1000, [](int step, BytesBySize& live) {
    live[kOther] = step % 3 * 100'000;
    live[kLeak] = std::min(step, 20) * 4096;  // a cache that becomes full
  });
  EXPECT_TRUE(followed.classes.empty());
}

TEST(SmallGrowthTest, ASizeThatGrowsIsFoundAmongOthersThatComeAndGo) {
  const Followed followed = run(1000, [](int step, BytesBySize& live) {
    live[kOther] = step % 3 * 8192;
    live[kLeak] += 4096;
  });
  EXPECT_EQ(followed.classes, std::vector<std::size_t>{kLeak});
}

TEST(SmallGrowthTest, NumbersAreNotFollowed) {
  EXPECT_TRUE(run(10'000, [](int, BytesBySize& live) { live[size_class_of(4)] += 64 * 20; }).classes.empty());
}

TEST(SmallGrowthTest, AtMostEightSizesAreFollowedThoseThatHaveMost) {
  const Followed followed = run(10'000, [](int, BytesBySize& live) {
    for (std::size_t i = 1; i <= 10; ++i) live[i * 20] += static_cast<std::int64_t>(i) * 10'000;
  });
  EXPECT_EQ(followed.classes, (std::vector<std::size_t>{200, 180, 160, 140, 120, 100, 80, 60}));
}

TEST(SmallGrowthTest, ReadingsAreFewWhereNothingGrowsAndRarerAsTimePasses) {
  EXPECT_EQ(run(10'000, [](int, BytesBySize&) {}).readings, 1);
  // 1 MiB more in each of 10,000 steps, with alternating sizes.
  const Followed followed =
      run(10'000, [](int step, BytesBySize& live) { live[static_cast<std::size_t>(step) % kSizeClasses] += 1 << 20; });
  EXPECT_LT(followed.readings, 300);
}

TEST(SmallGrowthTest, WithoutTheRightToReadThereIsNoOtherReading) {
  SmallGrowth growth;
  EXPECT_TRUE(growth.is_due(1, {3, 1 << 20}));
  growth.give_up();
  EXPECT_FALSE(growth.is_due(1, {3, 1 << 20}));
}

}  // namespace
}  // namespace dcmt::recorder
