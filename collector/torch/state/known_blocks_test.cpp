// Tests the set of blocks by address: in a thread's own line, and in the table behind it.
#include "collector/torch/state/known_blocks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "collector/agent/arena.h"
#include "trace/arch/arch.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kUnit = 64;  ///< addresses are multiples of this
constexpr std::uint64_t kAddresses = std::uint64_t{1} << 30;

class KnownBlocksTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(make_block_table()); }
};

/// One thread's part of the set.
class Allocator {
 public:
  Allocator() = default;
  ~Allocator() { give_back_recent_blocks(recent_); }
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  bool track(std::uint64_t address, std::uint64_t bytes) { return track_block(recent_, address, bytes); }
  /// The bytes with which it was tracked; 0: it was not tracked.
  std::uint64_t forget(std::uint64_t address) { return forget_block(recent_, address); }

 private:
  RecentBlocks* recent_ = nullptr;
};

TEST_F(KnownBlocksTest, EachIsForgottenOnceWithItsBytesHoweverManyCameAfterIt) {
  std::mt19937_64 random(1);
  Allocator one;
  Allocator other;
  std::map<std::uint64_t, std::uint64_t> known;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t address = kAddresses + random() % 4096 * 4 * kUnit;
    Allocator& who = random() % 4 == 0 ? other : one;
    if (const auto found = known.find(address); found != known.end()) {
      ASSERT_EQ(who.forget(address), found->second);
      known.erase(found);
      ASSERT_EQ(who.forget(address), 0);
    } else {
      const std::uint64_t bytes = 1 + random() % (kFollowedBytes - 1);
      if (who.track(address, bytes)) known[address] = bytes;
    }
  }
  EXPECT_GT(known.size(), 1000u);
  for (const auto& [address, bytes] : known) {
    EXPECT_EQ(one.forget(address), bytes);
  }
}

TEST_F(KnownBlocksTest, WhatCannotBeKnownIsSaidToBe) {
  Allocator one;
  EXPECT_FALSE(one.track(kAddresses, 0));
  EXPECT_FALSE(one.track(kAddresses, kFollowedBytes));
  EXPECT_FALSE(one.track(kAddresses + 8, 100));
  EXPECT_FALSE(one.track(std::uint64_t{1} << arch::kAddressBits, 100));
  EXPECT_EQ(one.forget(kAddresses), 0);
  ASSERT_TRUE(one.track(kAddresses, 100));
  EXPECT_EQ(one.forget(kAddresses + 8), 0);
  EXPECT_EQ(one.forget(kAddresses), 100);
}

TEST_F(KnownBlocksTest, WithoutRoomABlockIsRefusedAndTheOthersStayKnown) {
  // Blocks of one bucket: it has eight places, and the thread's own line has more.
  Allocator one;
  std::vector<std::uint64_t> known;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::uint64_t address = kAddresses + i * kUnit;
    if (one.track(address, i + 1)) known.push_back(address);
  }
  EXPECT_EQ(known.size(), 8 + RecentBlocks::kBlocks);
  // No block in the line can move to the full bucket, but a block of another bucket must be accepted.
  EXPECT_TRUE(one.track(kAddresses + (1 << 20), 5));
  EXPECT_EQ(one.forget(kAddresses + (1 << 20)), 5);
  for (const std::uint64_t address : known) {
    EXPECT_EQ(one.forget(address), (address - kAddresses) / kUnit + 1);
  }
}

TEST_F(KnownBlocksTest, AThreadThatEndsLeavesItsBlocksKnown) {
  {
    Allocator gone;
    ASSERT_TRUE(gone.track(kAddresses, 5));
  }
  Allocator next;
  ASSERT_TRUE(next.track(kAddresses + kUnit, 6));
  EXPECT_EQ(next.forget(kAddresses), 5);
  EXPECT_EQ(next.forget(kAddresses + kUnit), 6);
}

TEST_F(KnownBlocksTest, MoreThreadsThanHaveALineOfTheirOwn) {
  std::vector<Allocator> many(100);
  for (std::size_t i = 0; i < many.size(); ++i) ASSERT_TRUE(many[i].track(kAddresses + i * 1024, i + 1));
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(many[many.size() - 1 - i].forget(kAddresses + i * 1024), i + 1);
  }
}

TEST_F(KnownBlocksTest, ThreadsGiveBackWhatOthersHaveJustAllocated) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50'000;
  constexpr int kPlaces = 24;
  // Each thread allocates at addresses of its own and passes every second block to the next thread. That thread frees
  // the block while the first one is about to move it from its line to the table.
  struct Post {
    std::atomic<std::uint64_t> addresses[kPlaces] = {};
  };
  std::vector<Post> posts(kThreads);
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  const auto bytes_at = [](std::uint64_t address) { return address / kUnit % 1000 + 1; };
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      Allocator own;
      std::mt19937 random(static_cast<unsigned>(number));
      Post& to_next = posts[(number + 1) % kThreads];
      std::vector<std::uint64_t> kept;
      const std::uint64_t base = kAddresses * static_cast<std::uint64_t>(number + 2);
      const auto give_back = [&](std::uint64_t address) {
        if (own.forget(address) != bytes_at(address)) ++wrong;
      };
      for (int i = 0; i < kRounds; ++i) {
        const std::uint64_t address = base + static_cast<std::uint64_t>(i) * 128;
        if (!own.track(address, bytes_at(address))) continue;
        std::uint64_t empty = 0;
        auto& place = to_next.addresses[random() % kPlaces];
        if (i % 2 != 0 || !place.compare_exchange_strong(empty, address)) kept.push_back(address);
        if (kept.size() > random() % 20) {
          give_back(kept.front());
          kept.erase(kept.begin());
        }
        auto& received = posts[number].addresses[random() % kPlaces];
        if (const std::uint64_t block = received.exchange(0); block != 0) give_back(block);
      }
      for (const std::uint64_t address : kept) give_back(address);
    });
  }
  for (auto& thread : threads) thread.join();
  Allocator last;
  for (auto& post : posts) {
    for (const auto& address : post.addresses) {
      if (address != 0 && last.forget(address) != bytes_at(address)) ++wrong;
    }
  }
  EXPECT_EQ(wrong, 0u);
  // Nothing is left at any address that was used.
  for (int number = 0; number < kThreads; ++number) {
    for (std::uint64_t i = 0; i < kRounds; ++i) {
      ASSERT_EQ(last.forget(kAddresses * static_cast<std::uint64_t>(number + 2) + i * 128), 0);
    }
  }
}

}  // namespace
}  // namespace dcmt::torch_provider
