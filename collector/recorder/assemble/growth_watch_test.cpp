#include "collector/recorder/assemble/growth_watch.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

TEST(GrowthWatchTest, WhatIsMadeAndGoneInARoundDoesNotGrow) {
  GrowthWatch growth;
  growth.begins(1, 1000);  // kept from the start
  for (int step = 0; step < 10; ++step) {
    growth.begins(2, 100);
    growth.ends(2, 100);
    growth.round();
  }
  EXPECT_EQ(growth.growing().signs, 0);
}

TEST(GrowthWatchTest, APlaceThatKeepsMoreEachTimeShowsASignAtTheSecondTimeAndGrowsFromTheFourthOn) {
  GrowthWatch growth;
  for (int step = 1; step <= 16; ++step) {
    if (step % 4 == 0) growth.begins(1, 100);  // a validation step
    growth.round();
    EXPECT_EQ(growth.growing().signs, step >= 8 ? step / 4 * 100 : 0) << step;
    EXPECT_EQ(growth.growing().goes_on, step == 16 ? 400 : 0) << step;
  }
}

TEST(GrowthWatchTest, ARingThatIsFullAndAListThatIsClearedDoNotGrow) {
  GrowthWatch growth;
  for (int step = 0; step < 20; ++step) {
    growth.begins(1, 100);
    if (step >= 8) growth.ends(1, 100);
    growth.begins(2, 10);
    if (step % 5 == 4) growth.ends(2, 50);
    growth.round();
  }
  EXPECT_EQ(growth.growing().goes_on, 800) << "it is not known that it will rise no more";
}

}  // namespace
}  // namespace dcmt::recorder
