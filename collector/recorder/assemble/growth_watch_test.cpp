#include "collector/recorder/assemble/growth_watch.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

/// A turn of a loop makes a storage and drops it.
void work(GrowthWatch& growth) {
  growth.begins(99, 1);
  growth.ends(99, 1);
}

TEST(GrowthWatchTest, WhatIsMadeAndDroppedDoesNotGrow) {
  GrowthWatch growth;
  growth.begins(1, 1000);  // kept from the start
  for (int turn = 0; turn < 10; ++turn) {
    growth.begins(2, 100);
    growth.ends(2, 100);
  }
  EXPECT_EQ(growth.growing().signs, 0);
}

TEST(GrowthWatchTest, APlaceThatKeepsMoreEachTimeShowsASignAtTheFourthAndGoesOnAtTheEighth) {
  GrowthWatch growth;
  for (int kept = 1; kept <= 10; ++kept) {
    work(growth);
    growth.begins(1, 100);
    EXPECT_EQ(growth.growing().signs, kept >= 4 ? kept * 100 : 0) << kept;
    EXPECT_EQ(growth.growing().goes_on, kept >= 8 ? kept * 100 : 0) << kept;
  }
}

TEST(GrowthWatchTest, WhatIsMadeTogetherDoesNotGrow) {
  GrowthWatch growth;
  work(growth);
  for (int parameter = 0; parameter < 100; ++parameter) growth.begins(1, 100);
  EXPECT_EQ(growth.growing().signs, 0);
}

TEST(GrowthWatchTest, AListThatIsClearedBeginsAnew) {
  GrowthWatch growth;
  for (int turn = 0; turn < 40; ++turn) {
    work(growth);
    growth.begins(2, 10);
    if (turn % 5 != 4) continue;
    for (int each = 0; each < 5; ++each) growth.ends(2, 10);
    EXPECT_EQ(growth.growing().signs, 0);
  }
  EXPECT_EQ(growth.growing().goes_on, 0);
}

/// A step, in which storages of the same place are made one after the other.
void step(GrowthWatch& growth, int kept) {
  for (int each = 0; each < 20; ++each) {
    work(growth);
    if (each < kept) growth.begins(1, 100);
  }
  growth.step_ended();
}

TEST(GrowthWatchTest, WhatTheFirstStepMakesHasStoppedGrowingSoon) {
  GrowthWatch growth;
  step(growth, 16);
  EXPECT_EQ(growth.growing().goes_on, 1600) << "it is not known yet";
  step(growth, 0);
  step(growth, 0);
  EXPECT_EQ(growth.growing().goes_on, 0);
  EXPECT_EQ(growth.growing().signs, 0);
  for (int kept = 1; kept <= 3; ++kept) step(growth, 1);
  EXPECT_EQ(growth.growing().goes_on, 1900) << "it grows again";
}

TEST(GrowthWatchTest, WhatEachStepMakesAnewDoesNotGrow) {
  GrowthWatch growth;
  for (int turn = 0; turn < 20; ++turn) {
    for (int gradient = 0; turn > 0 && gradient < 16; ++gradient) growth.ends(1, 100);
    step(growth, 16);
    EXPECT_EQ(growth.growing().signs, turn == 0 ? 1600 : 0) << turn;
  }
}

TEST(GrowthWatchTest, WhatGrowsSlowlyDoesNotStop) {
  GrowthWatch growth;
  for (int turn = 0; turn < 200; ++turn) {
    step(growth, turn % 10 == 0 ? 1 : 0);
    EXPECT_GE(growth.growing().goes_on, turn < 80 ? 0 : 800) << turn;
  }
}

TEST(GrowthWatchTest, WhatAProgramWithoutStepsHasKeptCounts) {
  GrowthWatch growth;
  for (int kept = 1; kept <= 8; ++kept) {
    work(growth);
    growth.begins(1, 100);
  }
  for (int turn = 0; turn < 1000; ++turn) work(growth);
  EXPECT_EQ(growth.growing().goes_on, 800);
}

}  // namespace
}  // namespace dcmt::recorder
