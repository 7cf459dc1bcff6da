// Gathers and releases of many keys, as records, without torch.
#include "collector/torch/release_keys.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "collector/agent/hot_path.h"
#include "collector/agent/testing/test_spool.h"
#include "collector/torch/key_reads.h"
#include "collector/torch/storage_watch.h"
#include "collector/torch/testing/without_torch.h"
#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

using wire::RecordType;

constexpr std::uint64_t kBytes = 1 << 20;

/// What was published of the keys of one graph.
struct Published {
  int gathers = 0, releases = 0, final = 0, not_settled = 0, settled = 0, dead = 0, without_bytes = 0, diagnostics = 0;
};

class ReleaseKeys : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    agent::test_spool();
    static const bool made = make_release_keys();
    ASSERT_TRUE(made);
  }
  void SetUp() override {
    static std::int64_t last_graph = 1000;
    graph_ = ++last_graph;
    g_censuses = 0;
    drain();
    published_ = {};
    records_.clear();
    touches_.clear();
    reads_.clear();
  }

  void drain() {
    while (agent::test_spool().take() != 0) {
      for (auto record = agent::test_spool().next(); record.header != nullptr; record = agent::test_spool().next()) {
        count(*record.header);
      }
      agent::test_spool().give_back();
    }
  }

  void count(const wire::RecordHeader& header) {
    published_.diagnostics += header.type == RecordType::kDiagnostic ? 1 : 0;
    if (header.type == RecordType::kLastTouch) {
      touches_.push_back(reinterpret_cast<const wire::LastTouchRecord&>(header));
    }
    if (header.type == RecordType::kRead) reads_.push_back(reinterpret_cast<const wire::ReadRecord&>(header));
    const bool of_key = header.type == RecordType::kGather || header.type == RecordType::kRelease ||
                        header.type == RecordType::kReleaseSettled || header.type == RecordType::kPersist;
    if (!of_key) return;
    const auto& key = reinterpret_cast<const wire::KeyRecord&>(header);
    if (key.graph != graph_) return;
    if (records_.size() < 16) records_.push_back(key);
    published_.gathers += header.type == RecordType::kGather ? 1 : 0;
    published_.releases += header.type == RecordType::kRelease ? 1 : 0;
    published_.settled += header.type == RecordType::kReleaseSettled ? 1 : 0;
    published_.final += (header.aux & wire::kKeyFinal) != 0 ? 1 : 0;
    published_.not_settled += (header.aux & wire::kKeyNotSettled) != 0 ? 1 : 0;
    published_.dead += (header.aux & wire::kKeyStorageDead) != 0 ? 1 : 0;
    published_.without_bytes += key.bytes != kBytes ? 1 : 0;
  }

  /// Does `each` for all keys, and drains the spool now and then.
  void for_keys(int keys, const std::function<void(KeyName, int)>& each) {
    for (int i = 0; i < keys; ++i) {
      {
        const agent::Inside inside;
        each({graph_, i}, i);
      }
      if (i % 200 == 199) drain();
    }
    drain();
  }

  static void release(KeyName key) {
    key_release_begins(key, 1, 0, 0);
    key_release_ends(key, 1, 0, 0);
  }

  std::int64_t graph_ = 0;
  Published published_;
  std::vector<wire::KeyRecord> records_;  ///< the first of them
  std::vector<wire::LastTouchRecord> touches_;
  std::vector<wire::ReadRecord> reads_;
};

TEST_F(ReleaseKeys, ARecordSaysWhatItIsOf) {
  alignas(8) char tensor[256] = {};
  constexpr std::uint16_t kFloat = 6;
  std::memcpy(tensor + layout::kTensorDtype, &kFloat, sizeof kFloat);
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {tensor, storage}, 0x77, wire::kKeyExplicit);
    for (int use = 0; use < 2; ++use) key_release_ends(key, 2, 0x78, 0);
    key_persistent(key, 0x79, 0);
  });
  ASSERT_EQ(records_.size(), 4u);
  const wire::KeyRecord& gather = records_[0];
  EXPECT_EQ(gather.header.aux >> wire::kKeyDtypeShift, kFloat + 1u);
  EXPECT_NE(gather.header.aux & wire::kKeyExplicit, 0u);
  EXPECT_EQ(gather.tensor, reinterpret_cast<std::uint64_t>(&tensor));
  EXPECT_EQ(gather.storage, reinterpret_cast<std::uint64_t>(storage));
  EXPECT_EQ(gather.op, 0x77u);
  EXPECT_EQ(gather.cycle, 1u);
  EXPECT_EQ(gather.declared, 0);
  const wire::KeyRecord& persistent = records_[3];
  EXPECT_EQ(persistent.op, 0x79u);
  EXPECT_EQ(persistent.declared, 0);
  EXPECT_NE(persistent.header.aux & wire::kKeyPersistent, 0u);
  for (const int use : {1, 2}) {
    EXPECT_EQ(records_[use].tensor, 0u);
    EXPECT_EQ(records_[use].op, 0x78u);
    EXPECT_EQ(records_[use].declared, 2);
    EXPECT_EQ(records_[use].remaining, 2 - use);
    EXPECT_EQ((records_[use].header.aux & wire::kKeyFinal) != 0, use == 2);
  }
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, TheLastTouchIsOneOfItsOwnCycle) {
  std::vector<char> memory(2 * kFakeStorageBytes);
  const void* own = fake_storage(memory.data(), kBytes);
  const void* other = fake_storage(&memory[kFakeStorageBytes], kBytes);
  for_keys(2, [&](KeyName key, int i) { key_gathered(key, {nullptr, i == 0 ? own : other}, 0, 0); });
  {
    const agent::Inside inside;
    note_touch(own, 0x98, 5);
    note_touch(own, 0x99, 6);
    note_touch(other, 0x97, 7);
  }
  for_keys(1, [](KeyName key, int) { release(key); });
  ASSERT_EQ(touches_.size(), 1u);
  EXPECT_EQ(touches_[0].graph, graph_);
  EXPECT_EQ(touches_[0].key, 0);
  EXPECT_EQ(touches_[0].storage, reinterpret_cast<std::uint64_t>(own));
  EXPECT_EQ(touches_[0].op, 0x99u);
  EXPECT_EQ(touches_[0].touches, 2u);
  EXPECT_EQ(touches_[0].tsc, 6u);
  // What was touched before a wait gave it is another key's.
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {nullptr, own}, 0, 0);
    key_waited(key, {nullptr, other}, 0, 0);
    release(key);
  });
  EXPECT_EQ(touches_.size(), 1u);
  const agent::Inside inside;
  watched_storage_ends(own);
  watched_storage_ends(other);
}

TEST_F(ReleaseKeys, ReadsAfterAReleaseAreRecordedUpToABound) {
  constexpr std::size_t kMost = 64;
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  const auto released = [&] {
    for_keys(1, [&](KeyName key, int) {
      key_gathered(key, {nullptr, storage}, 0, 0);
      kernel_touches(storage, kBytes, nullptr, 1, false);  // a kernel without a name
      release(key);
    });
    ASSERT_FALSE(touches_.empty());
    EXPECT_EQ(touches_.back().op, 0u);
    EXPECT_EQ(touches_.back().touches, 1u);
  };
  const auto read = [&](std::size_t times) {
    for_keys(1, [&](KeyName name, int) {
      const ReleasedKey key{find_key(name), storage, 100};
      for (std::size_t i = 0; i < times; ++i) {
        write_read(key, nullptr, "aten::mm", 7, 0);
        kernel_touches(storage, 200, "kernel", 8, false);
        kernel_touches(storage, 200, "kernel", 8, true);  // an address that is left over tells nothing
      }
    });
  };
  released();
  read(kMost + 6);
  EXPECT_EQ(reads_.size(), 2 * kMost);
  EXPECT_EQ(reads_[0].graph, graph_);
  EXPECT_EQ(reads_[0].bytes, 100u);
  EXPECT_EQ(reads_[0].ordinal, 7u);
  EXPECT_EQ(reads_[0].storage, reinterpret_cast<std::uint64_t>(storage));
  EXPECT_EQ(reads_[0].header.aux & wire::kReadByKernel, 0u);
  EXPECT_EQ(reads_[1].bytes, 200u);
  EXPECT_EQ(reads_[1].ordinal, 8u);
  EXPECT_NE(reads_[1].header.aux & wire::kReadByKernel, 0u);
  // Of the next release they are counted anew.
  reads_.clear();
  released();
  read(1);
  EXPECT_EQ(reads_.size(), 2u);
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, AKeyIsOwnedByOneAtATime) {
  const agent::Inside inside;
  KeySlot& key = key_at(find_or_add_key({graph_, 0}));
  {
    const KeyGuard first(key);
    EXPECT_TRUE(first.owned);
    const KeyGuard second(key);
    EXPECT_FALSE(second.owned);
  }
  const KeyGuard again(key);
  EXPECT_TRUE(again.owned);
}

TEST_F(ReleaseKeys, ThreeHundredKeysOnOneLiveBufferAreAllSeenAlive) {
  constexpr int kKeys = 300;
  std::vector<char> memory(kFakeStorageBytes);
  const void* buffer = fake_storage(memory.data(), kBytes);
  for_keys(kKeys, [&](KeyName key, int) { key_gathered(key, {nullptr, buffer}, 0, 0); });
  for_keys(kKeys, [](KeyName key, int) { release(key); });
  for_keys(1, [](KeyName, int) { settle_releases(Settling::kWithCensus); });
  EXPECT_EQ(published_.gathers, kKeys);
  EXPECT_EQ(published_.final, kKeys);
  EXPECT_EQ(published_.settled, kKeys);
  EXPECT_EQ(published_.dead, 0);
  EXPECT_EQ(published_.without_bytes, 0);
  EXPECT_EQ(published_.diagnostics, 0);
  EXPECT_EQ(g_censuses, kKeys);
  const agent::Inside inside;
  watched_storage_ends(buffer);
  EXPECT_FALSE(reads_wanted());
}

TEST_F(ReleaseKeys, FortySevenThousandKeysOfTheirOwnStorages) {
  constexpr int kKeys = 47'000;
  constexpr int kCycles = 2;
  std::vector<char> memory(kKeys * kFakeStorageBytes);
  std::vector<const void*> storages;
  for (int i = 0; i < kKeys; ++i) storages.push_back(fake_storage(&memory[i * kFakeStorageBytes], kBytes));
  for (int cycle = 0; cycle < kCycles; ++cycle) {
    for_keys(kKeys, [&](KeyName key, int i) { key_gathered(key, {nullptr, storages[i]}, 0, 0); });
    for_keys(kKeys, [&](KeyName key, int) {
      settle_releases(Settling::kWithCensus);  // as the release operator's begin does
      release(key);
    });
    for_keys(1, [](KeyName, int) { settle_releases(Settling::kWithCensus); });
  }
  EXPECT_EQ(published_.gathers, kKeys * kCycles);
  EXPECT_EQ(published_.final, kKeys * kCycles);
  EXPECT_EQ(published_.settled, kKeys * kCycles);
  EXPECT_EQ(published_.dead, 0);
  EXPECT_EQ(published_.without_bytes, 0);
  EXPECT_LE(published_.diagnostics, 2);
  const agent::Inside inside;
  for (const void* storage : storages) watched_storage_ends(storage);
  EXPECT_FALSE(reads_wanted());
}

TEST_F(ReleaseKeys, WhatIsReleasedInARowBeyondWhatIsSettledIsNotKnown) {
  constexpr int kKeys = 3'000;
  std::vector<char> memory(kFakeStorageBytes);
  const void* buffer = fake_storage(memory.data(), kBytes);
  for_keys(kKeys, [&](KeyName key, int) { key_gathered(key, {nullptr, buffer}, 0, 0); });
  for_keys(kKeys, [](KeyName key, int) { release(key); });
  for_keys(5, [](KeyName, int) { settle_releases(Settling::kWithCensus); });
  EXPECT_EQ(published_.final, kKeys);
  EXPECT_GT(published_.not_settled, 0);
  EXPECT_EQ(published_.settled + published_.not_settled, kKeys);
  EXPECT_EQ(published_.dead, 0);
  EXPECT_EQ(published_.diagnostics, 1);
  const agent::Inside inside;
  watched_storage_ends(buffer);
}

// Autograd's thread drops the last reference to a storage while another thread settles its release.
TEST_F(ReleaseKeys, AStorageCanEndAndItsPageGoWhileItIsSettled) {
  constexpr int kKeys = 200;
  constexpr int kRounds = 50;
  std::vector<void*> pages(kKeys);
  std::atomic<int> released{0};
  std::atomic<int> ended{0};
  std::thread other([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (released.load() < round) std::this_thread::yield();
      const agent::Inside inside;
      for (void* page : pages) {
        watched_storage_ends(page);
        munmap(page, 4096);
      }
      ended.store(round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    for (void*& page : pages) {
      page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      fake_storage(page, kBytes);
    }
    for_keys(kKeys, [&](KeyName key, int i) { key_gathered(key, {nullptr, pages[i]}, 0, 0); });
    for_keys(kKeys, [](KeyName key, int) { release(key); });
    {
      const agent::Inside inside;
      released.store(round);
      settle_releases(Settling::kWithCensus);
    }
    while (ended.load() < round) std::this_thread::yield();
    drain();
  }
  other.join();
  EXPECT_EQ(published_.settled, kKeys * kRounds);
  // What is not said to be dead was read whole.
  EXPECT_EQ(published_.without_bytes, published_.dead);
  EXPECT_FALSE(reads_wanted());
}

TEST(TorchThreads, AStateServesAnotherThreadHoweverManyHaveEnded) {
  constexpr int kThreads = 300;
  agent::test_spool();
  const auto wave = [] {
    std::barrier together(kThreads);
    std::vector<TorchThread*> states(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        states[i] = torch_thread();
        together.arrive_and_wait();
        give_back_torch_thread();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return std::set<TorchThread*>(states.begin(), states.end());
  };
  const std::set<TorchThread*> first = wave();
  EXPECT_EQ(first.size(), kThreads);
  EXPECT_EQ(wave(), first);
}

}  // namespace
}  // namespace dcmt::torch_provider
