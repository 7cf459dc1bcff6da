#include "collector/recorder/process/limit_alarm.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

TEST(LimitAlarm, RingsNearTheLimitAndAgainNearer) {
  EXPECT_EQ(LimitAlarm::level_of({.used = 87}, 100), 0);
  EXPECT_EQ(LimitAlarm::level_of({.used = 89}, 100), 1);
  EXPECT_EQ(LimitAlarm::level_of({.used = 91}, 100), 2);
  EXPECT_GT(LimitAlarm::level_of({.used = 99}, 100), LimitAlarm::level_of({.used = 95}, 100));
}

TEST(LimitAlarm, PageCacheDoesNotCount) {
  EXPECT_EQ(LimitAlarm::level_of({.used = 99, .file = 60}, 100), 0);
  EXPECT_GT(LimitAlarm::level_of({.used = 99, .file = 5}, 100), 0);
  EXPECT_EQ(LimitAlarm::level_of({.used = 10, .file = 60}, 100), 0) << "two files, read one after the other";
}

TEST(LimitAlarm, WithoutALimitItIsSilent) {
  LimitAlarm alarm(-1);
  EXPECT_FALSE(alarm.rings());
}

}  // namespace
}  // namespace dcmt::recorder
