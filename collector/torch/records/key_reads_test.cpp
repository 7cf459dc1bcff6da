// Tests the records of reads after a release, without torch.
#include "collector/torch/records/key_reads.h"

#include <gtest/gtest.h>

#include <vector>

#include "collector/torch/state/torch_thread.h"
#include "collector/torch/testing/release_keys_fixture.h"

namespace dcmt::torch_provider {
namespace {

class KeyReads : public ReleaseKeysFixture {
 protected:
  void SetUp() override {
    ReleaseKeysFixture::SetUp();
    memory_.resize(4 * kFakeStorageBytes);
    tensors_.resize(16 * kFakeTensorBytes);
    storage_ = storage(0, kBytes);
  }
  void TearDown() override {
    const agent::Inside inside;
    for (int i = 0; i < 4; ++i) watched_storage_ends(&memory_[i * kFakeStorageBytes]);
    for (int i = 0; i < 16; ++i) watched_tensor_ends(&tensors_[i * kFakeTensorBytes]);
    torch_thread()->in_cycle_op = 0;
    torch_thread()->releasing = 0;
    EXPECT_FALSE(reads_wanted());
  }

  const void* storage(int number, std::uint64_t bytes) {
    return fake_storage(&memory_[number * kFakeStorageBytes], bytes);
  }
  const void* tensor(int number, const void* on) { return fake_tensor(&tensors_[number * kFakeTensorBytes], on); }
  [[nodiscard]] KeyName key(std::int64_t number) const { return {graph_, number}; }
  void gathered_and_released(std::int64_t number, const void* storage) {
    key_gathered(key(number), {nullptr, storage}, 0, 0);
    release(key(number));
  }
  /// Re-points the tensor away from its storage, inside the release operator of that key.
  static void repoint_in_release(KeyName of, const void* tensor, const void* old_storage) {
    torch_thread()->in_cycle_op = 1;
    torch_thread()->releasing = find_key(of);
    watched_tensor_moves(tensor, old_storage);
    torch_thread()->in_cycle_op = 0;
    torch_thread()->releasing = 0;
  }

  std::vector<char> memory_;
  std::vector<char> tensors_;
  const void* storage_ = nullptr;
};

TEST_F(KeyReads, ATensorOnAReleasedStorageIsItsKeys) {
  const agent::Inside inside;
  const void* on = tensor(0, storage_);
  ReleasedKey found{};
  EXPECT_FALSE(released_key_of(on, found)) << "nothing was gathered";
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  EXPECT_FALSE(released_key_of(on, found)) << "it is in use";
  EXPECT_FALSE(reads_wanted());
  release(key(0));
  EXPECT_TRUE(reads_wanted());
  ASSERT_TRUE(released_key_of(on, found));
  EXPECT_EQ(found.key, find_key(key(0)));
  EXPECT_EQ(found.storage, storage_);
  EXPECT_EQ(found.bytes, kBytes);
  EXPECT_FALSE(released_key_of(tensor(1, storage(1, kBytes)), found)) << "another storage";
  EXPECT_FALSE(released_key_of(tensor(1, nullptr), found)) << "none";
  key_gathered(key(1), {nullptr, storage_}, 0, 0);
  EXPECT_FALSE(released_key_of(on, found)) << "another key has gathered into it";
}

TEST_F(KeyReads, ATensorThatItsReleaseRepointedToNothingIsItsKeysUntilTheNextCycle) {
  const agent::Inside inside;
  const void* nothing = storage(1, 0);
  const void* moved = tensor(0, nothing);
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  repoint_in_release(key(0), moved, storage_);
  EXPECT_TRUE(reads_wanted());
  ReleasedKey found{};
  ASSERT_TRUE(released_key_of(moved, found));
  EXPECT_EQ(found.key, find_key(key(0)));
  EXPECT_EQ(found.storage, storage_);
  EXPECT_EQ(found.bytes, 0u);
  EXPECT_FALSE(released_key_of(tensor(1, nothing), found)) << "a tensor without bytes of its own";
  storage(1, kBytes);
  EXPECT_FALSE(released_key_of(moved, found)) << "it was given other data: a good tensor again";
  storage(1, 0);
  release(key(0));
  EXPECT_TRUE(released_key_of(moved, found));
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  EXPECT_FALSE(released_key_of(moved, found));
  EXPECT_FALSE(reads_wanted()) << "the next cycle begins";
}

TEST_F(KeyReads, ATensorThatEndsOrIsRepointedElsewhereIsForgotten) {
  const agent::Inside inside;
  const void* nothing = storage(1, 0);
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  ReleasedKey found{};
  for (const bool ends : {true, false}) {
    const void* moved = tensor(0, nothing);
    repoint_in_release(key(0), moved, storage_);
    ASSERT_TRUE(released_key_of(moved, found));
    ends ? watched_tensor_ends(moved) : watched_tensor_moves(moved, nothing);
    EXPECT_FALSE(released_key_of(moved, found));
    EXPECT_FALSE(reads_wanted());
  }
  watched_tensor_moves(tensor(0, nothing), storage_);
  EXPECT_FALSE(reads_wanted()) << "outside of an operator of a cycle it means nothing";
}

TEST_F(KeyReads, OfOneReleaseFourTensorsAreRemembered) {
  const agent::Inside inside;
  const void* nothing = storage(1, 0);
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  ReleasedKey found{};
  const auto remembered = [&] {
    int count = 0;
    for (int i = 0; i < 6; ++i) count += released_key_of(&tensors_[i * kFakeTensorBytes], found) ? 1 : 0;
    return count;
  };
  for (int i = 0; i < 6; ++i) repoint_in_release(key(0), tensor(i, nothing), storage_);
  EXPECT_EQ(remembered(), 4);
  // The end of a tensor frees a place for another.
  watched_tensor_ends(&tensors_[0]);
  EXPECT_EQ(remembered(), 3);
  repoint_in_release(key(0), tensor(5, nothing), storage_);
  EXPECT_EQ(remembered(), 4);
}

TEST_F(KeyReads, InABufferOfSeveralKeysTheTensorIsOfTheOneThatIsReleased) {
  const agent::Inside inside;
  const void* nothing = storage(1, 0);
  const void* elsewhere = storage(2, kBytes);
  for (int i = 0; i < 3; ++i) key_gathered(key(i), {nullptr, i == 2 ? elsewhere : storage_}, 0, 0);
  ReleasedKey found{};
  repoint_in_release(key(0), tensor(0, nothing), storage_);
  ASSERT_TRUE(released_key_of(&tensors_[0], found));
  EXPECT_EQ(found.key, find_key(key(0)));
  repoint_in_release(key(2), tensor(1, nothing), storage_);  // its old storage is another buffer
  ASSERT_TRUE(released_key_of(&tensors_[kFakeTensorBytes], found));
  EXPECT_EQ(found.key, find_key(key(1))) << "the one that gathered into it last";
  repoint_in_release(key(9), tensor(2, nothing), storage(3, kBytes));  // its old storage belongs to no key
  EXPECT_FALSE(released_key_of(&tensors_[2 * kFakeTensorBytes], found));
}

TEST_F(KeyReads, AReadSaysWhoReadWhat) {
  const void* on = tensor(0, storage_);
  {
    const agent::Inside inside;
    gathered_and_released(0, storage_);
    ReleasedKey found{};
    ASSERT_TRUE(released_key_of(on, found));
    write_read(found, on, "aten::mm", 7, wire::kReadOverwrites);
    write_read(found, on, nullptr, 8, 0);
    kernel_touches(storage_, kBytes, "kernel", 9, false);
    kernel_touches(storage(1, kBytes), kBytes, "kernel", 9, false);  // the storage belongs to no key
  }
  drain();
  ASSERT_EQ(reads_.size(), 3u);
  EXPECT_EQ(reads_[0].header.aux, wire::kReadOverwrites);
  EXPECT_EQ(reads_[0].key, 0);
  EXPECT_EQ(reads_[0].tensor, reinterpret_cast<std::uint64_t>(on));
  EXPECT_NE(reads_[0].op, 0u);
  EXPECT_EQ(reads_[0].op, agent::intern("aten::mm", 8));
  EXPECT_EQ(reads_[1].op, 0u);
  EXPECT_EQ(reads_[1].ordinal, 8u);
  EXPECT_EQ(reads_[2].op, agent::intern("kernel", 6));
  EXPECT_EQ(reads_[2].tensor, 0u);
  EXPECT_EQ(reads_[2].storage, reinterpret_cast<std::uint64_t>(storage_));
}

TEST_F(KeyReads, AKernelsTouchIsNamed) {
  const agent::Inside inside;
  key_gathered(key(0), {nullptr, storage_}, 0, 0);
  kernel_touches(storage_, kBytes, "kernel", 9, false);
  EXPECT_EQ(touches_of(storage_).count, 1u);
  EXPECT_EQ(touches_of(storage_).name, agent::intern("kernel", 6));
  EXPECT_NE(touches_of(storage_).tsc, 0u);
}

}  // namespace
}  // namespace dcmt::torch_provider
