// Tests keys on watched storages: any number of keys, and storages that end at any time.
#include "collector/torch/state/storage_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "collector/agent/hot_path.h"
#include "collector/agent/testing/test_spool.h"

namespace dcmt::torch_provider {
namespace {

class StorageWatch : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    agent::test_spool();
    static const bool made = make_key_table() && make_storage_watch();
    ASSERT_TRUE(made);
  }
  /// A key of the test's own graph.
  static KeyIndex key(std::int64_t number) {
    static std::int64_t graph = 0;
    if (number == 0) ++graph;
    return find_or_add_key({graph, number});
  }
};

/// Only its address is used.
struct alignas(16) Storage {
  char bytes[96];
};

TEST_F(StorageWatch, AllKeysOfAStorageLoseItAtOnceWhenItEnds) {
  constexpr int kKeys = 300;
  const Storage storage{};
  std::vector<KeyIndex> keys;
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(key(i));
    ASSERT_TRUE(hang_gathered(keys.back(), &storage, true));
  }
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_EQ(storage_of_key(keys[i]), &storage);
    EXPECT_TRUE(claims_on(&storage).gathered) << i;
    EXPECT_TRUE(hang_released(keys[i], true));
  }
  EXPECT_FALSE(claims_on(&storage).gathered);
  EXPECT_NE(claims_on(&storage).released, 0u);
  EXPECT_TRUE(released_storages_alive());
  EXPECT_TRUE(unwatch_storage(&storage));
  for (const KeyIndex each : keys) EXPECT_EQ(storage_of_key(each), nullptr);
  EXPECT_FALSE(released_storages_alive());
  EXPECT_FALSE(storage_is_watched(&storage));
}

TEST_F(StorageWatch, AClaimPassesToAnotherKeyThatHasReleasedTheStorage) {
  const Storage first{};
  const Storage second{};
  const KeyIndex keys[] = {key(0), key(1), key(2)};
  for (const KeyIndex each : keys) hang_gathered(each, &first, true);
  for (const KeyIndex each : keys) hang_released(each, true);
  // They gather elsewhere, in any order; the remaining key has the claim.
  for (const int left : {1, 0}) {
    const KeyIndex gone = left == 1 ? keys[1] : keys[2];
    hang_gathered(gone, &second, true);
    EXPECT_NE(claims_on(&first).released, 0u);
    EXPECT_NE(claims_on(&first).released, gone);
  }
  EXPECT_EQ(claims_on(&first).released, keys[0]);
  hang_gathered(keys[0], &second, true);
  EXPECT_EQ(claims_on(&first).released, 0u);
  EXPECT_FALSE(released_storages_alive());
  unwatch_storage(&first);
  unwatch_storage(&second);
}

TEST_F(StorageWatch, AGatherByAnotherKeyEndsTheClaimsOfThoseBefore) {
  const Storage pool{};
  const KeyIndex before = key(0);
  const KeyIndex after = key(1);
  hang_gathered(before, &pool, true);
  hang_released(before, true);
  hang_gathered(after, &pool, true);
  EXPECT_FALSE(released_storages_alive());
  EXPECT_TRUE(claims_on(&pool).gathered);
  hang_released(after, true);
  EXPECT_EQ(claims_on(&pool).released, after);
  EXPECT_EQ(storage_of_key(before), &pool) << "it has served both";
  // A key that waits for its own gather does not change the claims of others.
  hang_gathered(before, &pool, true);
  hang_released(after, true);
  hang_gathered(before, &pool, false);
  EXPECT_EQ(claims_on(&pool).released, after);
  unwatch_storage(&pool);
}

TEST_F(StorageWatch, AStorageAtTheSameAddressIsAnother) {
  const Storage storage{};
  const KeyIndex old = key(0);
  hang_gathered(old, &storage, true);
  hang_released(old, true);
  const std::int64_t number = number_of_storage(&storage, true);
  EXPECT_EQ(number_of_storage(&storage, true), number);
  unwatch_storage(&storage);
  EXPECT_EQ(number_of_storage(&storage, false), -1);
  watch_small(&storage);
  EXPECT_TRUE(storage_is_watched(&storage));
  EXPECT_EQ(storage_of_key(old), nullptr);
  EXPECT_EQ(claims_on(&storage).released, 0u);
  EXPECT_EQ(claims_on(&storage).latest, 0u);
  EXPECT_NE(number_of_storage(&storage, true), number);
  EXPECT_FALSE(unwatch_storage(&storage)) << "no key hung on it";
}

TEST_F(StorageWatch, AnyNumberOfStoragesAndKeys) {
  constexpr int kKeys = 100'000;
  std::vector<Storage> storages(kKeys);
  std::vector<KeyIndex> keys;
  const std::int32_t before = g_watched_count.load();
  for (int i = 0; i < kKeys; ++i) {
    keys.push_back(key(i));
    ASSERT_TRUE(hang_gathered(keys.back(), &storages[i], true));
  }
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_EQ(storage_of_key(keys[i]), &storages[i]);
    ASSERT_TRUE(hang_released(keys[i], true));
  }
  EXPECT_EQ(g_watched_count.load(), before + kKeys);
  int visited = 0;
  each_released([](void* count, KeyIndex, const void*) { ++*static_cast<int*>(count); }, &visited);
  EXPECT_EQ(visited, kKeys);
  for (const Storage& storage : storages) ASSERT_TRUE(unwatch_storage(&storage));
  EXPECT_EQ(g_watched_count.load(), before);
  EXPECT_FALSE(released_storages_alive());
}

TEST_F(StorageWatch, TouchesAreTheStorages) {
  const Storage storage{};
  note_touch(&storage, 1, 1);
  EXPECT_EQ(touches_of(&storage).count, 0u) << "not watched";
  hang_gathered(key(0), &storage, true);
  note_touch(&storage, 5, 7);
  note_touch(&storage, 6, 8);
  EXPECT_EQ(touches_of(&storage).count, 2u);
  EXPECT_EQ(touches_of(&storage).name, 6u);
  EXPECT_EQ(touches_of(&storage).tsc, 8u);
  unwatch_storage(&storage);
}

// One thread gathers and releases, one gathers other keys into the same storages, one ends them: the lists stay valid.
TEST_F(StorageWatch, StoragesEndWhileOthersGatherAndRelease) {
  constexpr int kStorages = 2;
  constexpr int kEnds = 20'000;
  Storage storages[kStorages];
  std::vector<KeyIndex> keys;
  for (int i = 0; i < 4 * kStorages; ++i) keys.push_back(key(i));
  std::atomic<bool> stop{false};
  const auto cycles = [&](int first) {
    agent::Inside inside;
    for (int round = 0; !stop.load(); ++round) {
      const KeyIndex each = keys[first + round * 7 % (2 * kStorages)];
      if (hang_gathered(each, &storages[round % kStorages], round % 3 != 0)) hang_released(each, round % 5 != 0);
      claims_on(&storages[round % kStorages]);
    }
  };
  std::thread one(cycles, 0);
  std::thread other(cycles, 2 * kStorages);
  {
    agent::Inside inside;
    for (int round = 0, ended = 0; ended < kEnds; ++round) ended += unwatch_storage(&storages[round % kStorages]);
  }
  stop = true;
  one.join();
  other.join();
  for (const Storage& storage : storages) {
    unwatch_storage(&storage);
    EXPECT_FALSE(storage_is_watched(&storage));
  }
  for (const KeyIndex each : keys) EXPECT_EQ(storage_of_key(each), nullptr);
  EXPECT_FALSE(released_storages_alive());
}

}  // namespace
}  // namespace dcmt::torch_provider
