#include "render/wording/columns.h"

#include <gtest/gtest.h>

namespace dcmt::wording {
namespace {

TEST(Columns, PaddingCountsCharactersNotBytes) {
  EXPECT_EQ(width("≤ 3 µs"), 6u);
  EXPECT_EQ(left("→", 3), "→  ");
  EXPECT_EQ(right("→", 3), "  →");
}

}  // namespace
}  // namespace dcmt::wording
