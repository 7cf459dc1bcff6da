// Sizes of small CUDA blocks by their address.
#include "collector/torch/small_cuda_blocks.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kUnit = 512;
constexpr std::uint64_t kRegion = std::uint64_t{2} << 20;
constexpr std::uint64_t kAddresses = std::uint64_t{0x7f} << 40;

class SmallCudaBlocksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { make_small_cuda_table(); }
};

TEST_F(SmallCudaBlocksTest, EachIsForgottenOnceWithItsBytes) {
  std::mt19937_64 random(1);
  std::map<std::uint64_t, std::uint64_t> known;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t address = kAddresses + random() % (40 * kRegion) / kUnit * kUnit;
    const std::uint64_t bytes = (1 + random() % (kFollowedBytes / kUnit - 1)) * kUnit;
    if (const auto found = known.find(address); found != known.end()) {
      ASSERT_EQ(forget_small_cuda_block(address), found->second);
      known.erase(found);
      ASSERT_EQ(forget_small_cuda_block(address), 0u);
    } else {
      ASSERT_TRUE(know_small_cuda_block(address, bytes));
      known[address] = bytes;
    }
  }
  EXPECT_GT(known.size(), 1000u);
  for (const auto& [address, bytes] : known) EXPECT_EQ(forget_small_cuda_block(address), bytes);
}

TEST_F(SmallCudaBlocksTest, ABlockThatIsNotOfWholeUnitsIsRefused) {
  EXPECT_FALSE(know_small_cuda_block(kAddresses + 64, kUnit));
  EXPECT_FALSE(know_small_cuda_block(kAddresses, 100));
  EXPECT_EQ(forget_small_cuda_block(kAddresses), 0u);
  ASSERT_TRUE(know_small_cuda_block(kAddresses, kUnit));
  EXPECT_EQ(forget_small_cuda_block(kAddresses + 64), 0u);
  EXPECT_EQ(forget_small_cuda_block(kAddresses + kRegion), 0u);
  EXPECT_EQ(forget_small_cuda_block(kAddresses), kUnit);
}

// Each device has its own lock, so threads of several devices come at once.
TEST_F(SmallCudaBlocksTest, DevicesComeToNewRegionsAtOnce) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 2000;
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([number, &wrong] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        // The same regions, in turn: places side by side.
        const std::uint64_t address =
            2 * kAddresses / 3 / kRegion * kRegion + i % 20 * kRegion + static_cast<std::uint64_t>(number) * kUnit;
        const std::uint64_t bytes = (i % 100 + 1) * kUnit;
        // While another thread makes the region, it may be refused.
        const bool known = know_small_cuda_block(address, bytes);
        if (forget_small_cuda_block(address) != (known ? bytes : 0)) ++wrong[static_cast<std::size_t>(number)];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(kThreads));
}

// The last test: it uses up what there is.
TEST_F(SmallCudaBlocksTest, WithoutRoomABlockIsRefusedAndTheOthersStayKnown) {
  std::vector<std::uint64_t> known;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t address = kAddresses + (i * 7 + 1000) * kRegion;
    if (know_small_cuda_block(address, kUnit)) known.push_back(address);
  }
  EXPECT_GT(known.size(), 300u);
  EXPECT_LE(known.size(), 512u);
  for (const std::uint64_t address : known) EXPECT_EQ(forget_small_cuda_block(address), kUnit);
}

}  // namespace
}  // namespace dcmt::torch_provider
