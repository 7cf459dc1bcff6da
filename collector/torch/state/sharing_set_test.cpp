// Tests the table of tensors by storage, with objects that have only the field that the table verifies.
#include "collector/torch/state/sharing_set.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "collector/torch/facts/layout.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint32_t kFirstLine = 7;
constexpr std::uint32_t kBucket = kFirstLine + 31;

/// Four of these are neighbours in the memory of one bucket. A bucket keeps its losses for ever, so each test uses its
/// own bucket.
struct alignas(64) Storage {};
struct alignas(256) Neighbours {
  Storage storages[4];
};
const Neighbours g_buckets[4];

class alignas(16) Tensor {
 public:
  explicit Tensor(const Storage* on) { words_[layout::kTensorStorage / 8] = on; }
  [[nodiscard]] const void* address() const { return this; }

 private:
  std::array<const void*, 8> words_{};
};

std::set<const void*> known(const Storage& storage) {
  SharingSet set;
  sharing_of(&storage, set);
  EXPECT_FALSE(set.maybe_incomplete);
  return std::set<const void*>(set.tensors, set.tensors + set.count);
}

class SharingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(make_sharing_table()); }
};

TEST_F(SharingTest, TensorsOfBothLinesAreKnownUntilTheirEndInAnyOrder) {
  const Storage* const storage = &g_buckets[0].storages[0];
  std::vector<Tensor> tensors(SharingSet::kCapacity, Tensor(storage));
  std::set<const void*> expected;
  for (const Tensor& tensor : tensors) {
    sharing_add(tensor.address(), storage, /*recorded=*/expected.size() % 2 == 0);
    expected.insert(tensor.address());
    EXPECT_EQ(known(*storage), expected);
  }
  // Remove every third one first, so that both parts get holes; then fill the holes with new ones.
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::size_t i = round; i < tensors.size(); i += 3) {
      EXPECT_EQ(sharing_remove(tensors[i].address(), storage), i % 2 == 0 ? BirthRecorded::kYes : BirthRecorded::kNo);
      EXPECT_EQ(sharing_remove(tensors[i].address(), storage), BirthRecorded::kNotKnown);
      expected.erase(tensors[i].address());
      EXPECT_EQ(known(*storage), expected);
    }
    const Tensor late(storage);
    sharing_add(late.address(), storage, false);
    EXPECT_TRUE(sharing_contains(late.address(), storage));
    EXPECT_EQ(sharing_note_recorded(late.address(), storage), BirthRecorded::kNo);
    EXPECT_EQ(sharing_remove(late.address(), storage), BirthRecorded::kYes);
  }
}

TEST_F(SharingTest, OneMoreThanAStorageMayHaveIsSaidAndLeavesRoomToItsNeighbours) {
  const Storage* const storage = &g_buckets[1].storages[0];
  std::vector<Tensor> tensors(SharingSet::kCapacity + 1, Tensor(storage));
  for (const Tensor& tensor : tensors) sharing_add(tensor.address(), storage, true);
  SharingSet set;
  sharing_of(storage, set);
  EXPECT_TRUE(set.maybe_incomplete);
  EXPECT_EQ(set.count, SharingSet::kCapacity);
  EXPECT_EQ(sharing_remove(tensors.back().address(), storage), BirthRecorded::kNotKnown);

  // The remaining places, in two steps: one storage may not use all of them.
  constexpr std::uint32_t kLeft = kBucket - SharingSet::kCapacity;
  const Storage* const neighbours[] = {&g_buckets[1].storages[1], &g_buckets[1].storages[2]};
  const std::vector<Tensor> others[] = {std::vector<Tensor>(kLeft / 2, Tensor(neighbours[0])),
                                        std::vector<Tensor>(kLeft - kLeft / 2, Tensor(neighbours[1]))};
  for (int i = 0; i < 2; ++i) {
    for (const Tensor& tensor : others[i]) sharing_add(tensor.address(), neighbours[i], false);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(known(*neighbours[i]).size(), others[i].size());
    for (const Tensor& tensor : others[i])
      EXPECT_EQ(sharing_remove(tensor.address(), neighbours[i]), BirthRecorded::kNo);
    EXPECT_TRUE(known(*neighbours[i]).empty());
  }
}

TEST_F(SharingTest, WithoutAnyRoomThatIsSaidOfTheStorageThatHasNone) {
  const Storage* const first = &g_buckets[2].storages[0];
  const Storage* const last = &g_buckets[2].storages[3];
  std::vector<Tensor> tensors;
  for (std::uint32_t i = 0; i < kBucket; ++i) tensors.emplace_back(&g_buckets[2].storages[i / 13]);
  for (std::uint32_t i = 0; i < tensors.size(); ++i) {
    sharing_add(tensors[i].address(), &g_buckets[2].storages[i / 13], false);
  }
  const Tensor late(last);
  sharing_add(late.address(), last, false);
  SharingSet set;
  sharing_of(last, set);
  EXPECT_TRUE(set.maybe_incomplete);
  EXPECT_EQ(set.count, 0u);
  EXPECT_EQ(known(*first).size(), 13u);
}

TEST_F(SharingTest, ThreadsThatComeAndGoLeaveNothingAndLoseNothing) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEach = SharingSet::kCapacity / kThreads;
  constexpr int kTimes = 20'000;
  static_assert(kThreads * kEach > kFirstLine);
  const Storage* const storage = &g_buckets[3].storages[0];
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<Tensor> mine(kEach, Tensor(storage));
      for (int i = 0; i < kTimes; ++i) {
        for (const Tensor& tensor : mine) sharing_add(tensor.address(), storage, false);
        for (const Tensor& tensor : mine) {
          if (sharing_remove(tensor.address(), storage) != BirthRecorded::kNo) ++lost;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  EXPECT_TRUE(known(*storage).empty());
}

}  // namespace
}  // namespace dcmt::torch_provider
