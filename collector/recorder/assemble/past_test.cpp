// Tests which objects lived when the hooks came, from a reading and from later records.
#include "collector/recorder/assemble/past.h"

#include <gtest/gtest.h>

#include <map>

namespace dcmt::recorder {
namespace {

using wire::RecordType;

constexpr std::uint64_t kBytes = 100'000;

class PastTest : public ::testing::Test {
 protected:
  void block(RecordType type, std::uint64_t data) {
    const wire::BlockRecord record{{type, sizeof record / 8, 0, 0, 0}, data, kBytes, 0};
    book_.see(record.header);
  }
  void storage(RecordType type, std::uint64_t address, std::uint64_t data) {
    const wire::StorageRecord record{{type, sizeof record / 8, 0, 0, 0}, address, data, kBytes, 0};
    book_.see(record.header);
  }
  void gpu_block(RecordType type, std::uint64_t data) {
    const wire::BlockRecord record{{type, sizeof record / 8, wire::cuda_device(1), 0, 0}, data, kBytes, 0};
    book_.see(record.header);
  }
  void listed(std::uint64_t address, std::uint64_t bytes, bool second, std::uint64_t stack = 0) {
    const wire::FoundBlockRecord record{{RecordType::kBlockFound, sizeof record / 8, wire::cuda_device(1), 0, 0},
                                        address,
                                        bytes,
                                        second ? 1U : 0U,
                                        stack};
    book_.see(record.header);
  }
  void found(std::uint64_t address, std::uint64_t data, bool is_block = true) {
    found_.push_back({address, data, kBytes, is_block});
  }
  /// Data of the storages, by the storage's address.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> past() const {
    std::map<std::uint64_t, std::uint64_t> past;
    for (const PastStorage& each : book_.reconcile(found_)) past[each.storage] = each.data;
    return past;
  }

  /// Bytes of the GPU's blocks, by address.
  [[nodiscard]] std::map<std::uint64_t, std::uint64_t> gpu() const {
    std::map<std::uint64_t, std::uint64_t> blocks;
    for (const PastGpuBlock& each : book_.gpu_blocks()) {
      EXPECT_EQ(each.device, wire::cuda_device(1));
      blocks[each.address] = each.bytes;
    }
    return blocks;
  }

  using Past = std::map<std::uint64_t, std::uint64_t>;
  PreAttachState book_;
  std::vector<scan::LivingStorage> found_;
};

TEST_F(PastTest, WhatNothingHappenedToWasThere) {
  found(1, 0x100);
  EXPECT_EQ(past(), (Past{{1, 0x100}}));
}

TEST_F(PastTest, WhatBeganSinceWasNot) {
  block(RecordType::kBlockAlloc, 0x100);
  found(1, 0x100);
  EXPECT_EQ(past(), Past{});
}

TEST_F(PastTest, WhatEndedWasThereWhetherItWasFoundOrNot) {
  storage(RecordType::kStorageDeath, 1, 0x100);
  block(RecordType::kBlockFree, 0x100);
  storage(RecordType::kStorageRelease, 2, 0x200);
  block(RecordType::kBlockFree, 0x200);
  found(2, 0x200);
  EXPECT_EQ(past(), (Past{{1, 0x100}, {2, 0x200}}));
}

TEST_F(PastTest, WhatEndedAfterItBeganWasNot) {
  block(RecordType::kBlockAlloc, 0x100);
  storage(RecordType::kStorageDeath, 1, 0x100);
  block(RecordType::kBlockFree, 0x100);
  EXPECT_EQ(past(), Past{});
}

TEST_F(PastTest, AnAddressThatIsUsedAgainIsTheOldStoragesAsItEnded) {
  storage(RecordType::kStorageDeath, 1, 0x100);
  block(RecordType::kBlockFree, 0x100);
  block(RecordType::kBlockAlloc, 0x100);
  found(7, 0x100);  // the reading has found the new one
  EXPECT_EQ(past(), (Past{{1, 0x100}}));
}

TEST_F(PastTest, ABlockOfAGpuWasThereIfTheSecondListHasItAndItDidNotBeginSince) {
  listed(0x100, kBytes, false);
  listed(0x200, kBytes, false);  // ended before the hooks recorded
  listed(0x100, kBytes, true);
  listed(0x300, kBytes, true);  // began before the hooks recorded
  gpu_block(RecordType::kBlockAlloc, 0x400);
  listed(0x400, kBytes, true);
  EXPECT_EQ(gpu(), (Past{{0x100, kBytes}, {0x300, kBytes}}));
}

TEST_F(PastTest, ABlockOfAGpuThatEndedHasTheBytesOfTheListBefore) {
  listed(0x100, 2 * kBytes, false);
  listed(0x200, 3 * kBytes, false);
  gpu_block(RecordType::kBlockFree, 0x100);
  gpu_block(RecordType::kBlockFree, 0x200);
  gpu_block(RecordType::kBlockAlloc, 0x200);  // another block at its address
  listed(0x200, kBytes, true);
  EXPECT_EQ(gpu(), (Past{{0x100, 2 * kBytes}, {0x200, 3 * kBytes}}));
}

TEST_F(PastTest, AStorageOnAGpuLivedIfItsBlockDidAndIsNoBlockOfTheCpu) {
  listed(0x100, kBytes, false);
  listed(0x100, kBytes, true);
  gpu_block(RecordType::kBlockAlloc, 0x200);
  storage(RecordType::kStorageDeath, 3, 0x300);
  gpu_block(RecordType::kBlockFree, 0x300);
  found(1, 0x100, false);
  found(2, 0x200, false);
  EXPECT_EQ(past(), (Past{{1, 0x100}, {3, 0x300}}));
  for (const PastStorage& each : book_.reconcile(found_)) EXPECT_FALSE(each.is_block) << each.storage;
}

TEST_F(PastTest, ABlockIsTheFirstStoragesOnly) {
  found(1, 0x100);
  found(2, 0x100);
  std::size_t blocks = 0;
  for (const PastStorage& each : book_.reconcile(found_)) blocks += each.is_block ? 1 : 0;
  EXPECT_EQ(blocks, 1u);
  EXPECT_EQ(past().size(), 2u);
}

TEST_F(PastTest, TheStackOfABlockIsOfTheListThatItIsOf) {
  listed(0x100, 512, false, 1);
  listed(0x100, 512, true, 1);
  // The first list was made before Python's stacks could be described.
  listed(0x200, 512, false);
  listed(0x200, 512, true, 2);
  // It was freed, and another block is there.
  listed(0x300, 512, false, 3);
  gpu_block(RecordType::kBlockFree, 0x300);
  gpu_block(RecordType::kBlockAlloc, 0x300);
  listed(0x300, 1024, true, 4);
  std::map<std::uint64_t, std::uint64_t> stacks;
  for (const PastGpuBlock& each : book_.gpu_blocks()) stacks[each.address] = each.stack;
  EXPECT_EQ(stacks, (std::map<std::uint64_t, std::uint64_t>{{0x100, 1}, {0x200, 2}, {0x300, 3}}));
}

TEST_F(PastTest, WhatIsNoBlockIsJudgedByItself) {
  storage(RecordType::kStorageBirth, 1, 0x100);
  found(1, 0x100, false);
  found(2, 0x200, false);
  EXPECT_EQ(past(), (Past{{2, 0x200}}));
}

}  // namespace
}  // namespace dcmt::recorder
