// Tests the rules of a cycle without torch.
#include "collector/torch/state/key_cycle.h"

#include <gtest/gtest.h>

namespace dcmt::torch_provider {
namespace {

using namespace wire;

TEST(KeyCycle, TheFirstDeclaredCountCountsDown) {
  KeyCycle key{};
  EXPECT_TRUE(gather(key, false));
  EXPECT_EQ(release(key, 3, false), 0u);
  EXPECT_EQ(key.remaining, 2);
  EXPECT_EQ(release(key, 2, false), kKeyMismatch);
  EXPECT_TRUE(key.gathered);
  EXPECT_EQ(release(key, 3, false), kKeyFinal);
  EXPECT_FALSE(key.gathered);
  EXPECT_EQ(key.remaining, 0);
}

TEST(KeyCycle, AGatherOfWhatIsGatheredGoesOnWithItsCycle) {
  KeyCycle key{};
  EXPECT_TRUE(gather(key, false));
  EXPECT_EQ(release(key, 2, false), 0u);
  EXPECT_FALSE(gather(key, false));
  EXPECT_EQ(key.number, 1u);
  EXPECT_EQ(release(key, 2, false), kKeyFinal);
  EXPECT_TRUE(gather(key, false));
  EXPECT_EQ(key.number, 2u);
  EXPECT_EQ(release(key, 1, false), kKeyFinal) << "the count of the cycle before is over";
}

TEST(KeyCycle, ANewGatherForgetsTheUsesLeft) {
  KeyCycle key{};
  gather(key, false);
  release(key, 1, false);
  EXPECT_EQ(release(key, 2, false), kKeyNoGather);  // one of two uses, without a gather
  gather(key, false);
  EXPECT_EQ(key.remaining, 0);
  EXPECT_EQ(release(key, 1, false), kKeyFinal);
}

TEST(KeyCycle, ACountBelowOneIsOne) {
  for (const int declared : {0, -7}) {
    KeyCycle key{};
    gather(key, false);
    EXPECT_EQ(release(key, declared, false), kKeyFinal);
    EXPECT_EQ(key.declared, 1);
  }
}

TEST(KeyCycle, AReleaseThatThrewHasReleasedNothing) {
  KeyCycle key{};
  gather(key, false);
  EXPECT_EQ(release(key, 1, true), 0u);
  EXPECT_TRUE(key.gathered);
  EXPECT_EQ(key.remaining, 1);
  EXPECT_EQ(release(key, 1, false), kKeyFinal);
}

TEST(KeyCycle, OfAPersistentKeyReleasesOnlyCount) {
  KeyCycle key{};
  key.persistent = true;
  gather(key, false);
  EXPECT_EQ(release(key, 2, false), 0u);
  EXPECT_EQ(release(key, 2, false), 0u);
  EXPECT_EQ(key.remaining, 0);
  EXPECT_TRUE(key.gathered);
}

TEST(KeyCycle, AReleaseWithoutAGatherIsSaidAndIsFinal) {
  KeyCycle key{};
  EXPECT_EQ(release(key, 1, false), kKeyNoGather | kKeyFinal);
}

TEST(KeyCycle, AnotherBufferIsAnotherCycleThoughUsesAreLeft) {
  KeyCycle key{};
  gather(key, false);
  release(key, 3, false);
  EXPECT_TRUE(gather(key, true));
  EXPECT_EQ(key.number, 2u);
  EXPECT_EQ(key.remaining, 0) << "the count of the next cycle is its own";
}

}  // namespace
}  // namespace dcmt::torch_provider
