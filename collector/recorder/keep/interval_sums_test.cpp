#include "collector/recorder/keep/interval_sums.h"

#include <gtest/gtest.h>

#include <limits>

#include "collector/recorder/keep/saturating_sum.h"

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(SaturatingSum, EndsAtTheLargestNumber) {
  EXPECT_EQ(saturating_sum(2, 3), 5);
  EXPECT_EQ(saturating_sum(-5, kMost), kMost - 5);
  EXPECT_EQ(saturating_sum(kMost - 1, 1), kMost);
  EXPECT_EQ(saturating_sum(kMost, 1), kMost);
  EXPECT_EQ(saturating_sum(kMost, kMost), kMost);
}

TEST(IntervalSums, ActiveAndReservedAreKnownFromTheirFirstRecordOn) {
  const Device device = *Device::from_row(0);
  IntervalSums sums;
  sums.alloc(device, 100, {1, 10});
  EXPECT_FALSE(sums.curves.front().active_end || sums.curves.front().reserved_end);
  sums.reserve(device, 2000, false, {2, 20});
  EXPECT_EQ(sums.curves.front().reserved_end, 2000);
  EXPECT_FALSE(sums.curves.front().active_end) << "no record says which frees wait";
  sums.reserve(device, 4000, true, {3, 30});
  EXPECT_EQ(sums.curves.front().active_end, 100);
  sums.alloc(device, 50, {4, 40});
  sums.free(device, 100, {5, 50}, true);
  EXPECT_EQ(sums.curves.front().end_bytes, 50);
  EXPECT_EQ(sums.curves.front().active_end, 150);
  IntervalSums second = sums.next(2, {5, 50});
  EXPECT_EQ(second.curves.front().active_peak, 150);
  EXPECT_EQ(second.curves.front().reserved_peak, 4000);
  second.free_done(device, 100, {6, 60});
  second.reserve(device, 1000, true, {7, 70});
  EXPECT_EQ(second.curves.front().active_end, 50);
  EXPECT_EQ(second.curves.front().reserved_end, 1000);
  sums.merge(second);
  EXPECT_EQ(sums.curves.front().active_peak, 150);
  EXPECT_EQ(sums.curves.front().active_end, 50);
  EXPECT_EQ(sums.curves.front().reserved_peak, 4000);
  EXPECT_EQ(sums.curves.front().reserved_end, 1000);
}

TEST(IntervalSums, MergesTheIntervalThatFollows) {
  const Device device = *Device::from_row(1);
  IntervalSums first;
  first.row.span = {{0, 0}, {5, 50}};
  first.row.residual = 1;
  first.row.residual_bytes = kMost - 1;
  EXPECT_EQ(first.alloc(device, 100, {2, 20}), 100);
  IntervalSums second = first.next(2, {5, 50});
  second.row.span.to = {9, 90};
  second.row.step = 7;
  second.row.steps = 1;
  second.row.residual = 1;
  second.row.residual_bytes = 64;
  EXPECT_EQ(second.alloc(device, 50, {6, 60}), 150);
  second.free(device, 100, {7, 70});

  first.merge(second);
  EXPECT_EQ(first.row.step, 7);
  EXPECT_EQ(first.row.steps, 1);
  EXPECT_EQ(first.row.span.to.seq, 9);
  EXPECT_EQ(first.row.residual, 2);
  EXPECT_EQ(first.row.residual_bytes, kMost) << "a garbled sum";
  ASSERT_EQ(first.curves.size(), 1u);
  EXPECT_EQ(first.curves[0].device, "cuda:1");
  EXPECT_EQ(first.curves[0].begin_bytes, 0);
  EXPECT_EQ(first.curves[0].peak_bytes, 150);
  EXPECT_EQ(first.curves[0].peak_at.seq, 6);
  EXPECT_EQ(first.curves[0].end_bytes, 50);
  EXPECT_EQ(first.curves[0].alloc_bytes, 150);
  EXPECT_EQ(first.curves[0].free_bytes, 100);
}

}  // namespace
}  // namespace dcmt::recorder
