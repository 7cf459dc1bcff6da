#include "collector/recorder/process/scan_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

using scan::Scope;

constexpr GrowingBytes kNothing{};

Progress program(GrowingBytes growing, bool stepped = true, double of_peak = 1) {
  return {.growing = growing, .growing_for = 1, .has_storages = stepped, .stepped = stepped, .of_peak = of_peak};
}

/// A schedule after the first reading of variables.
ScanSchedule prepared() {
  ScanSchedule schedule;
  schedule.done(Scope::kVariables, 0, 0.02, program(kNothing));
  return schedule;
}

TEST(ScanScheduleTest, TheFirstTensorIsEnoughForAFirstReadingOfVariables) {
  ScanSchedule schedule;
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0, program(kNothing, false)));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 0, program(kNothing, false)));
  schedule.done(Scope::kVariables, 0, 0.04, program(kNothing));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.04, program(kNothing, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.04, program(kNothing, true))) << "a step has ended";
}

TEST(ScanScheduleTest, AfterLongImportsWhereThingsAreIsReadOnceMoreBeforeTheFirstStep) {
  ScanSchedule schedule = prepared();
  const Progress imports;
  Progress sets_up;
  sets_up.has_storages = true;
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 3, imports));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.5, sets_up)) << "what has been read holds";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 3, sets_up));
  schedule.done(Scope::kVariables, 3, 0.04, sets_up);
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 6, sets_up)) << "once";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 3.05, program(kNothing))) << "the first step does not wait for more";
}

TEST(ScanScheduleTest, GrowthIsReadWithoutAHoldWhereNoneCame) {
  ScanSchedule schedule = prepared();
  schedule.done(Scope::kVariables, 1, 0.01, program(kNothing));
  Progress grows = program({.signs = 1 << 20});
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 1.05, grows));
  grows.held = true;
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 1.05, grows)) << "a hold may come";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 1.1, grows));
  schedule.done(Scope::kVariables, 1.1, 0.01, grows);
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 1.3, grows)) << "it is the same as then";
  grows.growing.signs *= 2;
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 1.3, grows));
}

TEST(ScanScheduleTest, APlainProgramIsReadAfterTenSecondsAndThenEverMoreSeldom) {
  ScanSchedule schedule;
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 9, program(kNothing, false))) << "most programs are over by then";
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 10, program(kNothing, false)));
  schedule.done(Scope::kAll, 10, 0.4, program(kNothing));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 19, program(kNothing, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 20, program(kNothing, false)));
  schedule.done(Scope::kAll, 100, 0.4, program(kNothing));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 199, program(kNothing, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 200, program(kNothing, false)));
}

TEST(ScanScheduleTest, TheFirstSignOfGrowthIsReadAtOnceAndAgainWhenItHasGoneOn) {
  ScanSchedule schedule = prepared();
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.1, program({1000, 1000}, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.1, program({kMiB, 0}, false)));
  schedule.done(Scope::kVariables, 0.1, 0.02, program({kMiB, 0}));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.11, program({2 * kMiB, kMiB}, false))) << "so soon";
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.25, program({kMiB, kMiB}, false))) << "no change";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.25, program({kMiB + 1, kMiB}, false)));
  schedule.done(Scope::kVariables, 80, 0.02, program({2 * kMiB, kMiB}));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 89, program({3 * kMiB, kMiB}, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 90, program({3 * kMiB, kMiB}, false)));
}

TEST(ScanScheduleTest, VariablesAreReadAfterTheFirstStepAndThenEverMoreSeldom) {
  ScanSchedule schedule = prepared();
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.05, program(kNothing, false)))
      << "imports, and what the program makes first";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.05, program(kNothing, true)));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 0.05, program(kNothing, true)));
  schedule.done(Scope::kVariables, 0.05, 0.02, program(kNothing));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.5, program(kNothing, true)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.5, program({kMiB, 0}, true))) << "growth does not wait for it";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.55, program(kNothing, true)));
  int readings = 1;
  for (double now = 0.55; now < 3600; now += 0.01) {
    if (!schedule.is_due(Scope::kVariables, now, program(kNothing, true))) continue;
    schedule.done(Scope::kVariables, now, 0.02, program(kNothing));
    ++readings;
  }
  EXPECT_GE(readings, 25);
  EXPECT_LE(readings, 40) << "of an hour";
}

TEST(ScanScheduleTest, HowLongImportsTookDelaysNoReading) {
  ScanSchedule schedule = prepared();
  schedule.done(Scope::kVariables, 60, 0.02, program(kNothing));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 60.5, program(kNothing, true))) << "half a second after the first";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 60.1, program({kMiB, 0}, true)));
  schedule.done(Scope::kVariables, 60.1, 0.02, program({kMiB, 0}));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 60.11, program({2 * kMiB, 0}, true)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 60.16, program({2 * kMiB, 0}, true))) << "it grows since 60.1";
  schedule.done(Scope::kVariables, 160.1, 0.02, program({2 * kMiB, 0}));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 172, program({3 * kMiB, 0}, true))) << "an eighth of 100 s later";
  schedule.done(Scope::kVariables, 173, 0.02, program(kNothing));
  schedule.done(Scope::kVariables, 300, 0.02, program({kMiB, 0}));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 300.1, program({2 * kMiB, 0}, true)))
      << "it had stopped, and began again";
}

TEST(ScanScheduleTest, WhatGrowsWhileAModelIsMadeLeavesReadingsForTheSteps) {
  ScanSchedule schedule = prepared();
  std::int64_t bytes = 0;
  double spent = 0;
  for (double now = 1; now < 11; now += 0.05) {
    const Progress makes = program({bytes += kMiB, kMiB}, false);
    if (!schedule.is_due(Scope::kVariables, now, makes)) continue;
    schedule.done(Scope::kVariables, now, 0.05, makes);
    spent += 0.05;
  }
  EXPECT_NEAR(spent, 0.3, 0.1) << "a quarter of a second, and its share of ten";
  int readings = 0;
  double first = 12;
  for (double now = 11; now < 12; now += 0.01) {
    const Progress trains = program({bytes += kMiB, kMiB}, true);
    if (!schedule.is_due(Scope::kVariables, now, trains)) continue;
    schedule.done(Scope::kVariables, now, 0.02, trains);
    first = std::min(first, now);
    ++readings;
  }
  EXPECT_EQ(first, 11) << "the first step waits for nothing";
  EXPECT_GE(readings, 8);
}

TEST(ScanScheduleTest, GrowthThatGoesOnForASecondHasAllOfTheMemoryRead) {
  ScanSchedule schedule = prepared();
  schedule.done(Scope::kVariables, 0.9, 0.02, program({kMiB, kMiB}));
  Progress shortly = program({kMiB, kMiB}, false);
  shortly.growing_for = 0.95;
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 0.95, shortly));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 5, shortly)) << "the first step came late";
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 1.05, program({kMiB, 0}, false))) << "a sign is not enough";
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 1.05, program({kMiB, kMiB}, false)));
  schedule.done(Scope::kAll, 1.05, 0.4, program({kMiB, kMiB}));
  EXPECT_FALSE(schedule.is_due(Scope::kAll, 2, program({kMiB, kMiB}, false)));
  EXPECT_TRUE(schedule.is_due(Scope::kAll, 2.1, program({2 * kMiB, 2 * kMiB}, false)));
}

TEST(ScanScheduleTest, WithoutGrowthAReadingWaitsUntilMemoryIsNearItsPeak) {
  ScanSchedule schedule = prepared();
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.1, program(kNothing, true, 0.6)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.1, program(kNothing, true, 0.72)));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 0.4, program(kNothing, true, 0.6)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.55, program(kNothing, true, 0.6))) << "there may be none";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.1, program({kMiB, 0}, true, 0.6))) << "growth does not wait for it";
  schedule.done(Scope::kVariables, 0, 0.02, program(kNothing));
  schedule.done(Scope::kVariables, 0.5, 0.02, program(kNothing));
  schedule.done(Scope::kVariables, 1, 0.02, program(kNothing));
  schedule.done(Scope::kVariables, 20, 0.02, program(kNothing));  // the next is due at 26
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 27, program(kNothing, true, 0.72)))
      << "another height than the one before";
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 27, program(kNothing, true, 0.98)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 35, program(kNothing, true, 0.72))) << "there may be none so high";
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 35, program(kNothing, true, 0.6)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 54, program(kNothing, true, 0.6)));
  schedule.done(Scope::kVariables, 35, 0.02, program(kNothing));  // the next is due at 45.5
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 46, program(kNothing, true, 0.72)));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 46, program(kNothing, true, 0.86)));
}

TEST(ScanScheduleTest, AFirstReadingThatTookLongIsFollowedByOthers) {
  ScanSchedule schedule = prepared();
  schedule.done(Scope::kVariables, 0.1, 0.4, program({kMiB, 0}));
  EXPECT_TRUE(schedule.is_due(Scope::kVariables, 0.5, program({2 * kMiB, 0}, true)));
  schedule.done(Scope::kVariables, 0.5, 0.4, program({2 * kMiB, 0}));
  EXPECT_FALSE(schedule.is_due(Scope::kVariables, 2, program({3 * kMiB, 0}, true))) << "all of them do";
}

TEST(ScanScheduleTest, ReadingsNeverTakeMoreThanAHundredthOfALongRun) {
  ScanSchedule schedule;
  double spent = 0;
  GrowingBytes growing{kMiB, kMiB};
  for (double now = 0; now < 100'000; now += 1, growing.signs += kMiB, growing.goes_on += kMiB) {
    for (const Scope scope : {Scope::kVariables, Scope::kAll}) {
      if (!schedule.is_due(scope, now, program(growing, true))) continue;
      schedule.done(scope, now, 3, program(growing));
      spent += 3;
    }
  }
  EXPECT_GT(spent, 10);
  EXPECT_LE(spent, 0.01 * 100'000 + 1.5 + 2 * 3);
}

}  // namespace
}  // namespace dcmt::recorder
