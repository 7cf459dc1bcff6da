#include "collector/recorder/console/memory_curve.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dcmt::recorder {
namespace {

using Rows = std::vector<std::string>;

TEST(MemoryCurve, APlotFillsEachColumnUpToItsBytes) {
  EXPECT_EQ(plot({0, 8, 16, 4}, 2, 16), (Rows{"  █ ", " ██▄"}));
  EXPECT_EQ(plot({1, 1000}, 1, 1000), (Rows{"▁█"})) << "little is not nothing";
  EXPECT_EQ(plot({5, -5}, 1, 0), (Rows{"▁ "})) << "no peak yet";
}

TEST(MemoryCurve, AColumnHasTheHighestOfItsTime) {
  MemoryCurve curve;
  for (int i = 0; i < 100; ++i) curve.add(i == 50 ? 900 : i);
  const std::vector<std::int64_t> columns = curve.columns(10);
  ASSERT_EQ(columns.size(), 10U);
  EXPECT_EQ(columns[0], 9);
  EXPECT_EQ(columns[5], 900);
  EXPECT_EQ(columns[9], 99);
  EXPECT_EQ(curve.columns(200).size(), 100U) << "a short run is not stretched";
}

/// A day of calls needs no more figures than an hour, and no highest figure is lost.
TEST(MemoryCurve, IsBounded) {
  MemoryCurve curve;
  for (int i = 0; i < 400'000; ++i) curve.add(i == 123'456 ? 1'000'000'000 : i);
  const std::vector<std::int64_t> all = curve.columns(1'000'000);
  EXPECT_LE(all.size(), 1024U);
  EXPECT_EQ(std::ranges::max(all), 1'000'000'000);
  EXPECT_EQ(all.back(), 399'999);
  const auto at = static_cast<double>(std::ranges::max_element(all) - all.begin()) / static_cast<double>(all.size());
  EXPECT_NEAR(at, 123'456.0 / 400'000, 0.01);
}

}  // namespace
}  // namespace dcmt::recorder
