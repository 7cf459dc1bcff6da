#include "collector/recorder/assemble/step_ends.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

TEST(StepEndsTest, WhatHasOutlivedItsStepBeganAfterTheFirstAndBeforeTheLatestTwoEnded) {
  StepEnds steps;
  EXPECT_EQ(steps.outlived().to, 0) << "no step has ended";
  for (const std::int64_t seq : {10, 25, 31, 47}) steps.ended(seq);
  EXPECT_EQ(steps.outlived().from, 10);
  EXPECT_EQ(steps.outlived().to, 31);
}

TEST(StepEndsTest, StepsHaveCeasedIfNoneEndsForSomeStepsWorthOfRecords) {
  StepEnds steps;
  EXPECT_FALSE(steps.have_ceased(1000, 0)) << "none has ended";
  for (const std::int64_t seq : {10, 20, 30, 40}) steps.ended(seq);
  EXPECT_FALSE(steps.have_ceased(80, 4));
  EXPECT_TRUE(steps.have_ceased(81, 4));
}

}  // namespace
}  // namespace dcmt::recorder
