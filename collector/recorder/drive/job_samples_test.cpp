#include "collector/recorder/drive/job_samples.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

TEST(JobSchedule, TheJobIsSampledEachSecondAndWheneverItHasMoreThanEver) {
  JobSchedule schedule;
  EXPECT_TRUE(schedule.is_due(0, 100 * kMiB));
  schedule.begins(0, 100 * kMiB);
  schedule.ended(0.01);
  EXPECT_FALSE(schedule.is_due(0.5, 104 * kMiB));
  EXPECT_TRUE(schedule.is_due(1, 100 * kMiB));
  EXPECT_FALSE(schedule.is_due(0.05, 200 * kMiB)) << "too soon";
  EXPECT_TRUE(schedule.is_due(0.2, 108 * kMiB));
  schedule.begins(0.2, 200 * kMiB);
  schedule.ended(0.01);
  EXPECT_FALSE(schedule.is_due(0.4, 190 * kMiB)) << "less than before";
  EXPECT_TRUE(schedule.is_due(1.3, 50 * kMiB));
}

TEST(JobSchedule, DearSamplesTakeTheirShareOfTheRunAtMost) {
  JobSchedule schedule;
  double spent = 0;
  for (double now = 0; now < 1000; now += 0.1) {
    const auto bytes = static_cast<std::int64_t>(now * 100 * kMiB);
    if (!schedule.figure_is_due(now)) continue;
    schedule.figure_read(now, 0.0001);
    if (!schedule.is_due(now, bytes)) continue;
    schedule.begins(now, bytes);
    schedule.ended(0.2);
    spent += 0.2;
  }
  EXPECT_LE(spent, 0.5 + 0.005 * 1000);
  EXPECT_GE(spent, 4);
}

TEST(JobSchedule, AFigureThatCostsMuchIsReadSeldom) {
  JobSchedule schedule;
  schedule.figure_read(10, 0.01);
  EXPECT_FALSE(schedule.figure_is_due(11.9));
  EXPECT_TRUE(schedule.figure_is_due(12.1));
}

}  // namespace
}  // namespace dcmt::recorder
