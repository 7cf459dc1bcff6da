#include "analyzer/growth/outside_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace dcmt::analyzer {
namespace {

constexpr double kMiB = 1 << 20;

std::vector<BytesAfter> points(int count, auto&& bytes_after) {
  std::vector<BytesAfter> result;
  for (int i = 0; i < count; ++i) result.push_back({static_cast<double>(i), bytes_after(i)});
  return result;
}

TEST(SteadyGrowth, EachStepAddsAsMuchWhateverTheStepItselfUses) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> noise(0, 40 * kMiB);
  const auto growth = steady_growth(points(200, [&](int i) { return 1e9 + i * kMiB + noise(random); }));
  ASSERT_TRUE(growth);
  EXPECT_NEAR(growth->per_step, kMiB, 0.2 * kMiB);
}

TEST(SteadyGrowth, WhatFillsAndStopsIsNone) {
  EXPECT_FALSE(steady_growth(points(200, [](int i) { return 1e9 + std::min(i, 120) * kMiB; })));
  EXPECT_FALSE(steady_growth(points(200, [](int i) { return 1e9 * (1 - std::exp(-i / 30.0)); })));
}

TEST(SteadyGrowth, APartWithoutSamplesHasWhatIsBesideIt) {
  const auto without = [](int from, int to, auto&& bytes_after) {
    std::vector<BytesAfter> result = points(80, bytes_after);
    std::erase_if(result, [&](const BytesAfter& each) { return each.steps >= from && each.steps < to; });
    return result;
  };
  const auto grows = [](int i) { return i * kMiB; };
  EXPECT_TRUE(steady_growth(without(38, 52, grows)));
  EXPECT_FALSE(steady_growth(without(29, 51, grows))) << "two parts in a row";
  EXPECT_FALSE(steady_growth(without(38, 52, [](int i) { return i < 45 ? 0.0 : 500 * kMiB; }))) << "a jump";
}

TEST(SteadyGrowth, OneJumpIsNone) {
  EXPECT_FALSE(steady_growth(points(200, [](int i) { return i < 100 ? 0.0 : 500 * kMiB; })));
}

TEST(SteadyGrowth, WhatIsLetGoOfNowAndThenIsNone) {
  EXPECT_FALSE(steady_growth(points(200, [](int i) { return i % 50 * kMiB; })));
}

TEST(SteadyGrowth, NoiseAloneIsNone) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> noise(0, 100 * kMiB);
  for (int run = 0; run < 200; ++run) {
    EXPECT_FALSE(steady_growth(points(100, [&](int) { return noise(random); }))) << run;
  }
}

TEST(SteadyGrowth, AWalkAtRandomIsSeldomMistakenForIt) {
  std::mt19937 random(7);
  std::normal_distribution<double> step(0, kMiB);
  int found = 0;
  for (int run = 0; run < 300; ++run) {
    double at = 0;
    found += steady_growth(points(200, [&](int) { return at += step(random); })) ? 1 : 0;
  }
  EXPECT_LE(found, 3);
}

std::optional<SteadyGrowth> in_time(const std::vector<BytesAfter>& points) {
  return steady_growth(points, kEvenInTime);
}

/// Other work on the machine slows the program: 10 MiB a second, then 4, then 8.
TEST(GrowthInTime, TheRateMayChangeWithWhatElseRuns) {
  const auto slowed = [](int i) {
    return (i < 40 ? 10.0 * i : i < 150 ? 400 + 4.0 * (i - 40) : 840 + 8.0 * (i - 150));
  };
  const auto growth = in_time(points(200, [&](int i) { return 1e9 + slowed(i) * kMiB; }));
  ASSERT_TRUE(growth);
  EXPECT_NEAR(growth->per_step, 6 * kMiB, 2 * kMiB);
}

TEST(GrowthInTime, WhatStopsJumpsIsLetGoOfOrOnlyVariesIsNone) {
  EXPECT_FALSE(in_time(points(200, [](int i) { return 1e9 + std::min(i, 150) * kMiB; })));
  EXPECT_FALSE(in_time(points(200, [](int i) { return 1e9 * (1 - std::exp(-i / 30.0)); })));
  EXPECT_FALSE(in_time(points(200, [](int i) { return i < 100 ? 0.0 : 500 * kMiB; })));
  EXPECT_FALSE(in_time(points(200, [](int i) { return i < 190 ? 0.0 : 500 * kMiB; })));
  EXPECT_FALSE(in_time(points(200, [](int i) { return i % 50 * kMiB; })));
  std::mt19937 random(7);
  std::normal_distribution<double> step(0, kMiB);
  std::uniform_real_distribution<double> noise(0, 100 * kMiB);
  int found = 0;
  for (int run = 0; run < 300; ++run) {
    EXPECT_FALSE(in_time(points(100, [&](int) { return noise(random); }))) << run;
    double at = 0;
    found += in_time(points(200, [&](int) { return at += step(random); })) ? 1 : 0;
  }
  EXPECT_LE(found, 6) << "of 300 walks at random";
}

TEST(SteadyGrowth, AFewPointsSayNothing) {
  EXPECT_FALSE(steady_growth(points(10, [](int i) { return i * kMiB; })));
}

}  // namespace
}  // namespace dcmt::analyzer
