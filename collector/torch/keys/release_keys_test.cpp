// Tests the records of gathers and releases of many keys, without torch.
#include "collector/torch/keys/release_keys.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "collector/torch/state/torch_thread.h"
#include "collector/torch/testing/release_keys_fixture.h"

namespace dcmt::torch_provider {
namespace {

using wire::RecordType;
using ReleaseKeys = ReleaseKeysFixture;

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
  // A touch before the wait that gave it the storage belongs to another key.
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
        kernel_touches(storage, 200, "kernel", 8, true);  // a left-over address proves nothing
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
  // After the next release they are counted from 0.
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
      settle_releases(Settling::kWithCensus);  // the begin of a release operator does this
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
  // If the storage is not recorded as dead, it was read completely.
  EXPECT_EQ(published_.without_bytes, published_.dead);
  EXPECT_EQ(published_.other_bytes, 0);
  EXPECT_FALSE(reads_wanted());
}

TEST_F(ReleaseKeys, AReleaseSaysOfWhichStorageInWhichCycleAndWhere) {
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  torch_thread()->ordinal = 41;
  for_keys(1, [&](KeyName key, int) {
    for (int cycle = 1; cycle <= 2; ++cycle) {
      key_gathered(key, {nullptr, storage}, 0, 0);
      key_release_begins(key, 1, 0x78, wire::kKeyExplicit);
      EXPECT_EQ(torch_thread()->releasing, find_key(key));
      key_release_ends(key, 1, 0x78, 0);
      EXPECT_EQ(torch_thread()->releasing, 0u);
    }
  });
  ASSERT_EQ(others_.size(), 2u);
  const wire::KeyRecord& begin = others_[1];
  EXPECT_EQ(begin.header.aux, wire::kKeyExplicit);
  EXPECT_EQ(begin.op, 0x78u);
  EXPECT_EQ(begin.declared, 1);
  EXPECT_EQ(begin.cycle, 2u);
  EXPECT_EQ(begin.storage, reinterpret_cast<std::uint64_t>(storage));
  EXPECT_EQ(begin.data, layout::data_of(storage));
  EXPECT_EQ(begin.bytes, kBytes);
  EXPECT_EQ(begin.ordinal, 41u);
  EXPECT_EQ(begin.tensor, 0u);
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, AWaitGivesTheStorageOfACycleThatIsOpen) {
  std::vector<char> memory(2 * kFakeStorageBytes);
  const void* first = fake_storage(memory.data(), kBytes);
  const void* second = fake_storage(&memory[kFakeStorageBytes], kBytes);
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {nullptr, first}, 0, 0);
    EXPECT_TRUE(key_is_gathered(key));
    key_waited(key, {nullptr, second}, 0x55, wire::kKeyExplicit);
    release(key);
    EXPECT_FALSE(key_is_gathered(key));
    key_waited(key, {nullptr, first}, 0x55, 0);  // no thread has gathered it
    EXPECT_EQ(storage_of_key(find_key(key)), second);
  });
  ASSERT_EQ(others_.size(), 3u);
  EXPECT_EQ(others_[0].storage, reinterpret_cast<std::uint64_t>(second));
  EXPECT_EQ(others_[0].op, 0x55u);
  EXPECT_EQ(others_[0].declared, 0);
  EXPECT_EQ(others_[0].header.aux, wire::kKeyExplicit);
  EXPECT_FALSE(key_is_gathered({graph_, 7})) << "there is no such key";
  const agent::Inside inside;
  watched_storage_ends(first);
  watched_storage_ends(second);
}

TEST_F(ReleaseKeys, AGatherOfAnotherBufferIsAnotherCycle) {
  std::vector<char> memory(2 * kFakeStorageBytes);
  const void* first = fake_storage(memory.data(), kBytes);
  const void* second = fake_storage(&memory[kFakeStorageBytes], kBytes);
  for_keys(1, [&](KeyName key, int) {
    for (const void* storage : {first, first, second}) key_gathered(key, {nullptr, storage}, 0, 0);
    key_gathered(key, {nullptr, nullptr}, 0, 0);  // an empty gather: the wait has the result
  });
  ASSERT_EQ(records_.size(), 4u);
  EXPECT_EQ(records_[1].cycle, 1u);
  EXPECT_EQ(records_[2].cycle, 2u);
  EXPECT_EQ(records_[3].cycle, 2u);
  const agent::Inside inside;
  watched_storage_ends(first);
  watched_storage_ends(second);
}

TEST_F(ReleaseKeys, AReleaseThatThrewSettlesNothing) {
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {nullptr, storage}, 0, 0);
    key_release_ends(key, 1, 0, wire::kKeyUnwound);
    settle_releases(Settling::kWithCensus);
    EXPECT_TRUE(key_is_gathered(key));
  });
  EXPECT_EQ(published_.releases, 1);
  EXPECT_EQ(published_.final, 0);
  EXPECT_EQ(published_.settled, 0);
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, ABufferThatAnotherKeyStillUsesIsSharedAndNotInspected) {
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  for_keys(2, [&](KeyName key, int) { key_gathered(key, {nullptr, storage}, 0, 0); });
  for_keys(2, [](KeyName key, int) {
    release(key);
    settle_releases(Settling::kWithCensus);
  });
  ASSERT_EQ(published_.settled, 2);
  std::vector<std::uint32_t> settled;
  for (const wire::KeyRecord& record : records_) {
    if (record.header.type == RecordType::kReleaseSettled) settled.push_back(record.header.aux);
  }
  EXPECT_EQ(settled, (std::vector<std::uint32_t>{wire::kKeyShared, 0}));
  EXPECT_EQ(g_censuses, 1) << "of the last one";
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, WhereNobodyCanBeAskedTheCensusComesLater) {
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {nullptr, storage}, 0, 0);
    release(key);
    for (int i = 0; i < 2; ++i) settle_releases(Settling::kNoCensus);
  });
  EXPECT_EQ(published_.settled, 1) << "the verdict is written once";
  EXPECT_EQ(g_censuses, 0);
  for_keys(1, [](KeyName, int) {
    for (int i = 0; i < 2; ++i) settle_releases(Settling::kWithCensus);
  });
  EXPECT_EQ(published_.settled, 1);
  EXPECT_EQ(g_censuses, 1);
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, WhatIsGatheredAgainOrHasNoBytesIsNotAskedFor) {
  std::vector<char> memory(2 * kFakeStorageBytes);
  const void* again = fake_storage(memory.data(), kBytes);
  const void* emptied = fake_storage(&memory[kFakeStorageBytes], kBytes);
  for_keys(2, [&](KeyName key, int i) {
    key_gathered(key, {nullptr, i == 0 ? again : emptied}, 0, 0);
    release(key);
  });
  fake_storage(&memory[kFakeStorageBytes], 0);
  for_keys(1, [&](KeyName key, int) {
    const std::uint32_t waiting = torch_thread()->pending_count;
    EXPECT_EQ(waiting, 1u) << "the first one was settled before the second one was gathered";
    key_gathered(key, {nullptr, again}, 0, 0);
  });
  EXPECT_EQ(published_.settled, 2);
  EXPECT_EQ(g_censuses, 1) << "of the first one, at the gather of the second one";
  const agent::Inside inside;
  watched_storage_ends(again);
  watched_storage_ends(emptied);
}

TEST_F(ReleaseKeys, WhatAFrameworksFunctionHasEmptiedIsNotFollowed) {
  std::vector<char> memory(kFakeStorageBytes);
  for (const auto& [flags, left, followed] : {std::tuple(wire::kKeyFunction, std::uint64_t{0}, false),
                                              {0u, std::uint64_t{0}, true},
                                              {wire::kKeyFunction, kBytes, true}}) {
    const void* storage = fake_storage(memory.data(), kBytes);
    for_keys(1, [&, flags = flags, left = left](KeyName key, int) {
      key_gathered(key, {nullptr, storage}, 0, 0);
      fake_storage(memory.data(), left);
      key_release_ends(key, 1, 0, flags);
    });
    EXPECT_EQ(reads_wanted(), followed);
    const agent::Inside inside;
    watched_storage_ends(storage);
  }
}

TEST_F(ReleaseKeys, AnOperatorThatGathersPreparesTheCensus) {
  std::vector<char> memory(kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  const int before = g_prepared;
  for_keys(1, [&](KeyName key, int) {
    key_gathered(key, {nullptr, storage}, 0, 0);
    EXPECT_EQ(g_prepared, before + 1);
    key_gathered(key, {nullptr, storage}, 0, wire::kKeyFunction);
    key_waited(key, {nullptr, storage}, 0, 0);
    release(key);
    EXPECT_EQ(g_prepared, before + 1);
  });
  const agent::Inside inside;
  watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, OfReleasedStoragesTheLargestAreAskedFor) {
  constexpr int kKeys = 70;
  std::vector<char> memory(kKeys * kFakeStorageBytes);
  std::vector<const void*> storages;
  for (int i = 0; i < kKeys; ++i) {
    // The first two are the smallest; the third has no bytes.
    const std::uint64_t bytes = i == 2 ? 0 : kBytes + static_cast<std::uint64_t>(i);
    storages.push_back(fake_storage(&memory[i * kFakeStorageBytes], bytes));
  }
  for_keys(1, [](KeyName, int) { inspect_released(wire::CensusTrigger::kOutOfMemory); });
  EXPECT_EQ(g_censuses, 0) << "nothing was released";
  for_keys(kKeys, [&](KeyName key, int i) { key_gathered(key, {nullptr, storages[i]}, 0, 0); });
  for_keys(kKeys, [](KeyName key, int) { release(key); });
  for_keys(1, [](KeyName, int) {
    settle_releases(Settling::kWithCensus);
    g_censuses = 0;
    g_inspected.clear();
    inspect_released(wire::CensusTrigger::kOutOfMemory);
  });
  EXPECT_EQ(g_censuses, 64);
  const std::set<const void*> inspected(g_inspected.begin(), g_inspected.end());
  EXPECT_EQ(inspected.size(), 64u);
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(inspected.contains(storages[i]), i >= 6) << i;
  const agent::Inside inside;
  for (const void* storage : storages) watched_storage_ends(storage);
}

TEST_F(ReleaseKeys, TheNextOperatorIsRecordedWhereMemoryOfAKeyWent) {
  std::vector<char> memory(2 * kFakeStorageBytes);
  const void* storage = fake_storage(memory.data(), kBytes);
  const void* other = fake_storage(&memory[kFakeStorageBytes], kBytes);
  const agent::Inside inside;
  TorchThread& thread = *torch_thread();
  const auto is_due = [&] { return std::exchange(thread.record_next_op, false); };
  is_due();
  watched_storage_empties(other);
  watched_storage_ends(other);
  EXPECT_FALSE(is_due()) << "no key's";
  key_gathered({graph_, 0}, {nullptr, storage}, 0, 0);
  watched_storage_empties(storage);
  EXPECT_TRUE(is_due());
  release({graph_, 0});
  watched_storage_empties(storage);
  EXPECT_TRUE(is_due());
  watched_storage_ends(storage);
  EXPECT_TRUE(is_due());
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
