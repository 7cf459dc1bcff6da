// Tests the sizes of small CUDA blocks by address.
#include "collector/torch/state/small_cuda_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "collector/agent/spool_writer.h"
#include "collector/agent/testing/test_spool.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kUnit = 512;
constexpr std::uint64_t kRegion = std::uint64_t{2} << 20;
constexpr std::uint64_t kAddresses = std::uint64_t{0x7f} << 40;

int published_diagnostics() {
  spool::SpoolReader& spool = agent::test_spool();
  agent::close_thread_chunk();
  int published = 0;
  while (spool.read() != 0) {
    for (auto record = spool.next(); record.header != nullptr; record = spool.next()) {
      published += record.header->type == wire::RecordType::kDiagnostic ? 1 : 0;
    }
    spool.give_back();
  }
  return published;
}

TEST(SmallCudaBlocksTest, EachIsForgottenOnceWithItsBytes) {
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
      ASSERT_EQ(track_small_cuda_block(address, bytes), 0u);
      known[address] = bytes;
    }
  }
  EXPECT_GT(known.size(), 1000u);
  for (const auto& [address, bytes] : known) EXPECT_EQ(forget_small_cuda_block(address), bytes);
}

TEST(SmallCudaBlocksTest, ABlockThatIsNotOfWholeUnitsIsRefused) {
  EXPECT_EQ(track_small_cuda_block(kAddresses + 64, kUnit), std::nullopt);
  EXPECT_EQ(track_small_cuda_block(kAddresses, 100), std::nullopt);
  EXPECT_EQ(forget_small_cuda_block(kAddresses), 0u);
  ASSERT_EQ(track_small_cuda_block(kAddresses, kUnit), 0u);
  EXPECT_EQ(forget_small_cuda_block(kAddresses + 64), 0u);
  EXPECT_EQ(forget_small_cuda_block(kAddresses + kRegion), 0u);
  EXPECT_EQ(forget_small_cuda_block(kAddresses), kUnit);
}

TEST(SmallCudaBlocksTest, ABlockWhoseEndWasNotSeenIsReturnedByTheNextOne) {
  ASSERT_EQ(track_small_cuda_block(kAddresses, 3 * kUnit), 0u);
  EXPECT_EQ(track_small_cuda_block(kAddresses, 5 * kUnit), 3 * kUnit);
  EXPECT_EQ(forget_small_cuda_block(kAddresses), 5 * kUnit);
}

// Each device has its own lock, so threads of several devices can make a new region at the same time.
TEST(SmallCudaBlocksTest, DevicesComeToNewRegionsAtOnce) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kRounds = 500;
  std::atomic<std::uint64_t> known{0};
  std::atomic<int> wrong{0};
  std::barrier round(kThreads);
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        round.arrive_and_wait();
        const std::uint64_t address = kAddresses + (100 + i) * kRegion + number * kUnit;
        const std::uint64_t bytes = (i % 100 + 1) * kUnit;
        // A thread that arrives while another one makes the region may be refused.
        const bool is_known = track_small_cuda_block(address, bytes).has_value();
        if (is_known) ++known;
        if (forget_small_cuda_block(address) != (is_known ? bytes : 0)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(known, kRounds);
}

// The last test, because it fills the table.
TEST(SmallCudaBlocksTest, WithoutRoomABlockIsRefusedAndThatIsSaidOnce) {
  agent::test_spool();
  std::vector<std::uint64_t> known;
  std::vector<std::uint64_t> refused;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t address = kAddresses + (i * 7 + 1000) * kRegion;
    (track_small_cuda_block(address, kUnit) ? known : refused).push_back(address);
  }
  EXPECT_GT(known.size(), 5000u);
  EXPECT_GT(refused.size(), 10'000u);
  for (const std::uint64_t address : known) EXPECT_EQ(forget_small_cuda_block(address), kUnit);
  for (const std::uint64_t address : refused) EXPECT_EQ(forget_small_cuda_block(address), 0u);
  EXPECT_EQ(published_diagnostics(), 1);
}

}  // namespace
}  // namespace dcmt::torch_provider
