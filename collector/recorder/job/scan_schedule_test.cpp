#include "collector/recorder/job/scan_schedule.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

using scan::Scope;

constexpr std::int64_t kMiB = 1 << 20;
constexpr GrowingBytes kNothing{};

TEST(ScanScheduleTest, APlainProgramIsReadAfterTenSecondsAndThenEverMoreSeldom) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 9, kNothing)) << "most programs are over by then";
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 10, kNothing));
  schedule.done(Scope::kAll, 10, 0.4, kNothing);
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 19, kNothing));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 20, kNothing));
  schedule.done(Scope::kAll, 100, 0.4, kNothing);
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 199, kNothing));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 200, kNothing));
}

TEST(ScanScheduleTest, TheFirstSignOfGrowthIsReadAtOnceAndAgainWhenItHasGoneOn) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.1, {1000, 1000}));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.1, {kMiB, 0}));
  schedule.done(Scope::kVariables, 0.1, 0.02, {kMiB, 0});
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.15, {2 * kMiB, kMiB})) << "so soon";
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.25, {kMiB, kMiB})) << "no change";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.25, {kMiB + 1, kMiB}));
  schedule.done(Scope::kVariables, 80, 0.02, {2 * kMiB, kMiB});
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 89, {3 * kMiB, kMiB}));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 90, {3 * kMiB, kMiB}));
}

TEST(ScanScheduleTest, GrowthThatGoesOnForASecondHasAllOfTheMemoryRead) {
  ScanSchedule schedule;
  schedule.done(Scope::kVariables, 0.9, 0.02, {kMiB, kMiB});
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 0.95, {kMiB, kMiB}));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 1.05, {kMiB, 0})) << "a sign is not enough";
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 1.05, {kMiB, kMiB}));
  schedule.done(Scope::kAll, 1.05, 0.4, {kMiB, kMiB});
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 2, {kMiB, kMiB}));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 2.1, {2 * kMiB, 2 * kMiB}));
}

TEST(ScanScheduleTest, ReadingsNeverTakeMoreThanAHundredthOfALongRun) {
  ScanSchedule schedule;
  double spent = 0;
  GrowingBytes growing{kMiB, kMiB};
  for (double now = 0; now < 100'000; now += 1, growing.signs += kMiB, growing.goes_on += kMiB) {
    for (const Scope scope : {Scope::kVariables, Scope::kAll}) {
      if (!schedule.is_due(scope, now, growing)) continue;
      schedule.done(scope, now, 3, growing);
      spent += 3;
    }
  }
  EXPECT_GT(spent, 10);
  EXPECT_LE(spent, 0.01 * 100'000 + 1.5 + 2 * 3);
}

}  // namespace
}  // namespace dcmt::recorder
