#include "collector/recorder/job/scan_schedule.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(ScanScheduleTest, APlainProgramIsReadAfterTenSecondsAndThenEverMoreSeldom) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(9, 0)) << "most programs are over by then";
  EXPECT_TRUE(schedule.is_due(10, 0));
  schedule.done(10, 0.4, 0);
  EXPECT_FALSE(schedule.is_due(19, 0));
  EXPECT_TRUE(schedule.is_due(20, 0));
  schedule.done(100, 0.4, 0);
  EXPECT_FALSE(schedule.is_due(199, 0));
  EXPECT_TRUE(schedule.is_due(200, 0));
}

TEST(ScanScheduleTest, GrowthIsReadAtOnceAndAgainWhenItHasGoneOn) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(0.1, 1000));
  EXPECT_TRUE(schedule.is_due(0.1, kMiB));
  schedule.done(0.1, 0.4, kMiB);
  EXPECT_FALSE(schedule.is_due(0.6, kMiB + kMiB / 4));
  EXPECT_TRUE(schedule.is_due(0.6, 2 * kMiB));
}

TEST(ScanScheduleTest, ReadingsNeverTakeMoreThanAHundredthOfALongRun) {
  ScanSchedule schedule;
  double spent = 0;
  std::int64_t growing = kMiB;
  for (double now = 0; now < 100'000; now += 1, growing += kMiB) {
    if (!schedule.is_due(now, growing)) continue;
    schedule.done(now, 3, growing);
    spent += 3;
  }
  EXPECT_GT(spent, 10);
  EXPECT_LE(spent, 0.01 * 100'000 + 1.5 + 3);
}

}  // namespace
}  // namespace dcmt::recorder
