// The table of tensors by storage, with objects that have nothing but the field it verifies.
#include "collector/torch/sharing_set.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "collector/torch/layout.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint32_t kFirstLine = SharingSet::kCapacity / 2;

/// A bucket knows for good that it was full, so each test has one for itself.
struct alignas(128) Storage {};
const Storage g_storages[3];

class Tensor {
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
  const Storage* const storage = &g_storages[0];
  std::vector<Tensor> tensors(SharingSet::kCapacity, Tensor(storage));
  std::set<const void*> expected;
  for (const Tensor& tensor : tensors) {
    sharing_add(tensor.address(), storage, /*told=*/expected.size() % 2 == 0);
    expected.insert(tensor.address());
    EXPECT_EQ(known(*storage), expected);
  }
  // Every third one first, so that both lines get holes; then new ones fill the holes.
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::size_t i = round; i < tensors.size(); i += 3) {
      EXPECT_EQ(sharing_remove(tensors[i].address(), storage), i % 2 == 0 ? Told::kYes : Told::kNo);
      EXPECT_EQ(sharing_remove(tensors[i].address(), storage), Told::kNotKnown);
      expected.erase(tensors[i].address());
      EXPECT_EQ(known(*storage), expected);
    }
    const Tensor late(storage);
    sharing_add(late.address(), storage, false);
    EXPECT_TRUE(sharing_contains(late.address(), storage));
    EXPECT_EQ(sharing_tell(late.address(), storage), Told::kNo);
    EXPECT_EQ(sharing_remove(late.address(), storage), Told::kYes);
  }
}

TEST_F(SharingTest, OneMoreThanTheBucketHoldsIsSaid) {
  const Storage* const storage = &g_storages[1];
  std::vector<Tensor> tensors(SharingSet::kCapacity + 1, Tensor(storage));
  for (const Tensor& tensor : tensors) sharing_add(tensor.address(), storage, true);
  SharingSet set;
  sharing_of(storage, set);
  EXPECT_TRUE(set.maybe_incomplete);
  EXPECT_EQ(set.count, SharingSet::kCapacity);
  EXPECT_EQ(sharing_remove(tensors.back().address(), storage), Told::kNotKnown);
  for (const Tensor& tensor : tensors) sharing_remove(tensor.address(), storage);
}

TEST_F(SharingTest, ThreadsThatComeAndGoLeaveNothingAndLoseNothing) {
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint32_t kEach = SharingSet::kCapacity / kThreads;
  constexpr int kTimes = 20'000;
  static_assert(kThreads * kEach > kFirstLine);
  const Storage* const storage = &g_storages[2];
  std::atomic<int> lost{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<Tensor> mine(kEach, Tensor(storage));
      for (int i = 0; i < kTimes; ++i) {
        for (const Tensor& tensor : mine) sharing_add(tensor.address(), storage, false);
        for (const Tensor& tensor : mine) {
          if (sharing_remove(tensor.address(), storage) != Told::kNo) ++lost;
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
