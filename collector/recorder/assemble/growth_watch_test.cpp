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

}  // namespace
}  // namespace dcmt::recorder
