#include "trace/base/oom_figures.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt {
namespace {

TEST(OomFigures, OfTheCpuOnlyTheRequestIsKnown) {
  const OomFigures figures{.requested = 5 * kMiB};
  EXPECT_FALSE(figures.is_limited());
  EXPECT_FALSE(figures.is_fragmented());
  EXPECT_EQ(figures.missing(), 5 * kMiB);
  EXPECT_FALSE(OomFigures{}.is_fragmented()) << "nothing was reserved";
}

TEST(OomFigures, WhatTheDeviceHasIsNotMissing) {
  EXPECT_EQ((OomFigures{.requested = 70 * kMiB, .free = 6 * kMiB}).missing(), 64 * kMiB);
  EXPECT_EQ((OomFigures{.requested = 70 * kMiB, .free = 0}).missing(), 70 * kMiB);
}

TEST(OomFigures, FreeBytesOfTheDeviceShowALimitOnlyIfASegmentFits) {
  const OomFigures too_few{.requested = 2 * kMiB, .free = 22 * kMiB - 1};
  EXPECT_FALSE(too_few.is_limited());
  EXPECT_EQ(too_few.missing(), 0) << "a whole segment was asked for, the request alone would fit";
  const OomFigures enough{.requested = 2 * kMiB, .free = 22 * kMiB};
  EXPECT_TRUE(enough.is_limited());
  EXPECT_EQ(enough.missing(), 2 * kMiB) << "what may not be taken does not count";
}

TEST(OomFigures, ScatteredBytes) {
  OomFigures figures{.requested = 70 * kMiB, .allocated = 10 * kMiB, .reserved = 80 * kMiB, .free = 0};
  EXPECT_EQ(figures.unused(), 70 * kMiB);
  EXPECT_TRUE(figures.is_fragmented());
  figures.requested += 1;
  EXPECT_FALSE(figures.is_fragmented());
}

}  // namespace
}  // namespace dcmt
