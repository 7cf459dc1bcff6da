// Tests of memory as people write them for a libtorch program. Those called Fails... have the defect that they
// test for.
#include <dcmt/testing.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <thread>
#include <vector>

using dcmt::testing::LeavesAtMost;
using dcmt::testing::MemoryScope;
using dcmt::testing::PeaksAtMost;

namespace {

constexpr std::int64_t kKiB = 1024;
std::vector<torch::Tensor> g_cache;

torch::Tensor made(std::int64_t kib) { return torch::ones({kib * kKiB / 4}); }

TEST(Memory, PeaksAndLeaves) {
  const torch::Tensor before = made(300);
  MemoryScope memory;
  { const torch::Tensor passing = made(1000); }
  const torch::Tensor stays = made(100);
  EXPECT_THAT(memory, PeaksAtMost(1000 * kKiB));
  EXPECT_THAT(memory, LeavesAtMost(100 * kKiB));
  EXPECT_EQ(memory.peak(), 1000 * kKiB);
  EXPECT_EQ(memory.left(), 100 * kKiB);
}

TEST(Memory, FreesWhatWasThereBefore) {
  torch::Tensor before = made(300);
  MemoryScope memory;
  before.reset();
  EXPECT_EQ(memory.left(), -300 * kKiB);
  EXPECT_EQ(memory.peak(), 0);
}

TEST(Memory, ScopesInOneAnother) {
  MemoryScope outer;
  { const torch::Tensor high = made(500); }
  {
    MemoryScope inner;
    { const torch::Tensor low = made(200); }
    EXPECT_EQ(inner.peak(), 200 * kKiB);
  }
  const torch::Tensor last = made(100);
  EXPECT_EQ(outer.peak(), 500 * kKiB);
  EXPECT_EQ(outer.left(), 100 * kKiB);
}

TEST(Memory, SmallBlocksAndOtherThreads) {
  MemoryScope memory;
  std::vector<torch::Tensor> kept(100);
  std::thread([&] {
    for (torch::Tensor& each : kept) each = torch::ones({16});
  }).join();
  EXPECT_EQ(memory.left(), 100 * 16 * 4);
}

TEST(Memory, BackwardGivesBack) {
  const torch::Tensor weight = torch::ones({256, 256}, torch::requires_grad());
  MemoryScope memory;
  (weight * 2).square().sum().backward();
  EXPECT_THAT(memory, LeavesAtMost(256 * 256 * 4));  // the gradient
}

TEST(Memory, FailsPeak) {
  MemoryScope memory;
  { const torch::Tensor high = made(25); }
  EXPECT_THAT(memory, PeaksAtMost(24 * kKiB));
}

TEST(Memory, FailsLeaves) {
  MemoryScope memory;
  g_cache.push_back(made(100));
  EXPECT_THAT(memory, LeavesAtMost(0));
}

TEST(Memory, FailsOfAnOpenScope) {
  MemoryScope outer;
  MemoryScope inner;
  EXPECT_THAT(outer, PeaksAtMost(1));
}

}  // namespace
