#include "collector/recorder/decode/native_names.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

TEST(NativeNames, AFunctionIsFoundByAnAddressInIt) {
  NativeNames names;
  EXPECT_EQ(names.function_at("/nowhere", 0x40), "+0x40");
  EXPECT_TRUE(names.function_at("/proc/self/exe", 1).starts_with("+"));
}

}  // namespace
}  // namespace dcmt::recorder
