#include "collector/recorder/process/memory_samples.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

TEST(SampleSchedule, AStepIsSampledAtItsEndAndALongRunSeldom) {
  SampleSchedule schedule;
  EXPECT_TRUE(schedule.is_due(0, 0));
  schedule.sampled(0, 0);
  EXPECT_FALSE(schedule.is_due(0.005, 1));
  EXPECT_TRUE(schedule.is_due(0.011, 1));
  EXPECT_FALSE(schedule.is_due(0.05, 0));
  EXPECT_TRUE(schedule.is_due(0.2, 0));
  schedule.sampled(3600, 100);
  EXPECT_FALSE(schedule.is_due(3601, 101));
  EXPECT_TRUE(schedule.is_due(3608, 101));
}

TEST(SampleSchedule, ADayHasSomeThousandSamples) {
  SampleSchedule schedule;
  int samples = 0;
  std::int64_t steps = 0;
  for (double now = 0; now < 86'400; now += 0.05) {
    if (!schedule.is_due(now, ++steps)) continue;
    schedule.sampled(now, steps);
    ++samples;
  }
  EXPECT_LT(samples, 6000);
  EXPECT_GT(samples, 1000);
}

TEST(SampleSchedule, ClassesAreReadAfterTheFirstStepsThenSeldomAndWithGrowth) {
  SampleSchedule schedule;
  EXPECT_FALSE(schedule.classes_are_due(0.1, 2, {100 * kMiB}));
  EXPECT_TRUE(schedule.classes_are_due(0.1, 3, {100 * kMiB}));
  schedule.classes_read(0.1, 3, 0.01, {100 * kMiB});
  EXPECT_FALSE(schedule.classes_are_due(0.5, 9, {110 * kMiB}));
  EXPECT_TRUE(schedule.classes_are_due(0.5, 9, {126 * kMiB}));
  EXPECT_TRUE(schedule.classes_are_due(1.1, 9, {100 * kMiB}));
  EXPECT_FALSE(schedule.classes_are_due(0.5, 9, {110 * kMiB, 8 * kMiB}));
  EXPECT_TRUE(schedule.classes_are_due(0.5, 9, {110 * kMiB, 16 * kMiB})) << "lasting growth";
  schedule.classes_read(0.5, 9, 0.01, {110 * kMiB, 16 * kMiB});
  EXPECT_FALSE(schedule.classes_are_due(0.6, 9, {120 * kMiB, 24 * kMiB}));
  EXPECT_TRUE(schedule.classes_are_due(0.6, 9, {120 * kMiB, 32 * kMiB})) << "twice as much";
}

TEST(SampleSchedule, ClassesUseTheirShareOfTheRunAtMost) {
  SampleSchedule schedule;
  double spent = 0;
  for (double now = 0; now < 1000; now += 0.01) {
    if (!schedule.classes_are_due(now, 100, {static_cast<std::int64_t>(now * 1e9)})) continue;
    schedule.classes_read(now, 100, 0.04, {static_cast<std::int64_t>(now * 1e9)});
    spent += 0.04;
  }
  EXPECT_LE(spent, 0.2 + 0.002 * 1000 + 0.04);
  EXPECT_GT(spent, 0.04);
}

TEST(OutsideWatch, OnlyWhatStaysCounts) {
  OutsideWatch watch;
  for (int i = 0; i < 40; ++i) watch.see((100 + i % 2 * 50) * kMiB);
  EXPECT_EQ(watch.grown(), 0);
  for (int i = 0; i < 8; ++i) watch.see((171 + i % 2 * 50) * kMiB);
  EXPECT_EQ(watch.grown(), 16 * kMiB);
  watch.see(100 * kMiB);
  EXPECT_EQ(watch.grown(), 0);
}

}  // namespace
}  // namespace dcmt::recorder
