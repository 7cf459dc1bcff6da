#include "collector/recorder/job/scan_schedule.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(ScanScheduleTest, APlainProgramIsReadAfterASecondAndThenEverMoreSeldom) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(0.5, 1, 0));
  EXPECT_FALSE(schedule.is_due(1, 0, 0)) << "it is being set up";
  EXPECT_TRUE(schedule.is_due(1, 1, 0));
  EXPECT_TRUE(schedule.is_due(5, 0, 0)) << "it has no steps";
  schedule.done(1, 0.4, 0);
  EXPECT_FALSE(schedule.is_due(1.9, 1, 0));
  EXPECT_TRUE(schedule.is_due(2, 1, 0));
  schedule.done(10, 0.4, 0);
  EXPECT_FALSE(schedule.is_due(19, 1, 0));
  EXPECT_TRUE(schedule.is_due(20, 1, 0));
}

TEST(ScanScheduleTest, GrowthIsReadAtOnceAndAgainWhenItHasGoneOn) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(0.1, 4, 1000));
  EXPECT_TRUE(schedule.is_due(0.1, 4, kMiB));
  schedule.done(0.1, 0.4, kMiB);
  EXPECT_FALSE(schedule.is_due(0.6, 9, kMiB + kMiB / 4));
  EXPECT_TRUE(schedule.is_due(0.6, 9, 2 * kMiB));
}

TEST(ScanScheduleTest, ReadingsNeverTakeMoreThanAHundredthOfALongRun) {
  ScanSchedule schedule;
  double spent = 0;
  std::int64_t growing = kMiB;
  for (double now = 0; now < 100'000; now += 1, growing += kMiB) {
    if (!schedule.is_due(now, 1, growing)) continue;
    schedule.done(now, 3, growing);
    spent += 3;
  }
  EXPECT_GT(spent, 10);
  EXPECT_LE(spent, 0.01 * 100'000 + 1.5 + 3);
}

}  // namespace
}  // namespace dcmt::recorder
