#include "collector/recorder/console/step_growth.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

/// Figures of a program whose step has `points` figures, rises by 50 MB within the step, and keeps `kept` of each.
StepGrowth after(int figures, int points, std::int64_t kept) {
  StepGrowth growth;
  for (int i = 0; i < figures; ++i) {
    const std::int64_t step = i / points;
    growth.add(step, 1'000'000 + step * kept + i % points * (50'000'000 / points));
  }
  return growth;
}

TEST(StepGrowth, IsWhatStepsKeepNotWhatTheyUse) {
  EXPECT_EQ(after(60, 4, 300'000).bytes_a_step(), 300'000);
  EXPECT_EQ(after(60, 4, 0).bytes_a_step(), 0);
}

TEST(StepGrowth, IsNotKnownBeforeTwoStretchesAndWithoutSteps) {
  EXPECT_EQ(after(23, 4, 300'000).bytes_a_step(), std::nullopt);
  EXPECT_EQ(after(60, 1000, 300'000).bytes_a_step(), std::nullopt);
}

}  // namespace
}  // namespace dcmt::recorder
