#include "trace/base/quantities.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace dcmt {
namespace {

TEST(Quantities, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(12'589'056), "12,589,056");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(counted(1, "release"), "1 release");
  EXPECT_EQ(counted(1200, "census", "censuses"), "1,200 censuses");
}

TEST(Quantities, BytesHaveTheUnitThatKeepsThemBelowAThousand) {
  EXPECT_EQ(rounded_bytes(0), "0 B");
  EXPECT_EQ(rounded_bytes(1023), "1,023 B");
  EXPECT_EQ(rounded_bytes(1024), "1.0 KiB");
  EXPECT_EQ(rounded_bytes((1 << 20) - 1024), "1023.0 KiB");
  EXPECT_EQ(rounded_bytes((1 << 20) - 40), "1.0 MiB");  // 1023.96 KiB
  EXPECT_EQ(rounded_bytes(12'655'108), "12.1 MiB");
  EXPECT_EQ(rounded_bytes(std::int64_t{70} << 30), "70.0 GiB");
  EXPECT_EQ(rounded_bytes(std::int64_t{5000} << 40), "5000.0 TiB");
  EXPECT_EQ(rounded_bytes(-(3 << 20)), "-3.0 MiB");
  EXPECT_EQ(exact_bytes(12'655'108), "12,655,108 B");
}

}  // namespace
}  // namespace dcmt
