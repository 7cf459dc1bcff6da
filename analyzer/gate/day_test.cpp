#include "analyzer/gate/day.h"

#include <gtest/gtest.h>

namespace dcmt::gate {
namespace {

TEST(Day, IsCountedFromNineteenSeventy) {
  EXPECT_EQ(day_of("1970-01-01"), 0);
  EXPECT_EQ(day_of("1970-03-01"), 59);
  EXPECT_EQ(day_of("2024-02-29"), 19782);  // date -d 2024-02-29 +%s / 86400
  EXPECT_EQ(day_of("1969-12-31"), -1);
}

TEST(Day, WhatIsNoDateHasNone) {
  for (const char* text : {"", "today", "2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "26-11-25", "2026/11/25",
                           "2026--1-05", "2026-11-25 ", "+026-11-25"}) {
    EXPECT_FALSE(day_of(text)) << text;
  }
}

}  // namespace
}  // namespace dcmt::gate
