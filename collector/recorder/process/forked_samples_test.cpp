#include "collector/recorder/process/forked_samples.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

TEST(ForkedSchedule, AShortRunIsSampledEachSecondAndALongOneSeldom) {
  ForkedSchedule schedule;
  EXPECT_TRUE(schedule.is_due(0));
  schedule.sampled(0, 0.02);
  EXPECT_FALSE(schedule.is_due(0.9));
  EXPECT_TRUE(schedule.is_due(1));
  schedule.sampled(3600, 0.02);
  EXPECT_FALSE(schedule.is_due(3635));
  EXPECT_TRUE(schedule.is_due(3637));
}

TEST(ForkedSchedule, DearSamplesTakeTheirShareOfTheRunAtMost) {
  ForkedSchedule schedule;
  double spent = 0;
  for (double now = 0; now < 1000; now += 0.1) {
    if (!schedule.is_due(now)) continue;
    schedule.sampled(now, 0.1);
    spent += 0.1;
  }
  EXPECT_LE(spent, 0.3 + 0.0025 * 1000);
  EXPECT_GE(spent, 2);
}

TEST(ForkedSchedule, AChildIsReadWhenTheirMemoryHasDoubled) {
  ForkedSchedule schedule;
  EXPECT_FALSE(schedule.reading_is_due(1, 63 * kMiB));
  EXPECT_TRUE(schedule.reading_is_due(1, 64 * kMiB));
  schedule.reading_begins(70 * kMiB);
  schedule.reading_took(0.4);
  EXPECT_FALSE(schedule.reading_is_due(2, 139 * kMiB));
  EXPECT_TRUE(schedule.reading_is_due(2, 140 * kMiB));
  schedule.reading_begins(140 * kMiB);
  schedule.reading_failed();
  EXPECT_TRUE(schedule.reading_is_due(3, 140 * kMiB));
}

TEST(ForkedSchedule, ReadingsTakeTheirShareOfTheRunAtMost) {
  ForkedSchedule schedule;
  double spent = 0;
  for (double now = 0; now < 1000; now += 0.1) {
    const auto unshared = static_cast<std::int64_t>(now * now * 1024 * kMiB);
    if (!schedule.reading_is_due(now, unshared)) continue;
    schedule.reading_begins(unshared / 4);
    schedule.reading_took(0.5);
    spent += 0.5;
  }
  EXPECT_LE(spent, 3 + 0.005 * 1000 + 0.5);
  EXPECT_GE(spent, 2);
}

}  // namespace
}  // namespace dcmt::recorder
