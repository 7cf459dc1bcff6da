// Tests which releases are fenced and what is recorded of it, without torch.
#include "collector/torch/keys/proof.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "collector/agent/environment.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/state/fences.h"
#include "collector/torch/state/torch_thread.h"
#include "collector/torch/testing/release_keys_fixture.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kChosenKey = 3;

class Proof : public ReleaseKeysFixture {
 protected:
  void SetUp() override { set_up("fence"); }
  void set_up(const char* how) {
    ReleaseKeysFixture::SetUp();
    setenv(agent::kEnvProveBy, how, 1);
    char path[] = "/tmp/dcmt-proved-XXXXXX";
    const int file = mkstemp(path);
    // No graph whose number is an address; then the parameters.
    const std::int64_t chosen[] = {0, graph_, kChosenKey};
    ASSERT_EQ(write(file, chosen, sizeof chosen), static_cast<ssize_t>(sizeof chosen));
    close(file);
    setenv(agent::kEnvProve, path, 1);
    {
      const agent::Inside inside;
      prepare_proof();
    }
    unlink(path);
    ASSERT_TRUE(proving());
    g_of_cpu_allocator = true;
    block_ = static_cast<char*>(aligned_alloc(kPage, 4 * kPage));
    memset(block_, 1, 4 * kPage);
    fake_storage(storage_, 4 * kPage - 8);
    std::memcpy(storage_ + layout::kStorageData, &block_, sizeof block_);
  }
  void TearDown() override {
    {
      const agent::Inside inside;
      watched_storage_ends(storage_);
    }
    leave_proof();
    g_proving = false;
    free(block_);
  }

  void gather(std::int64_t key) {
    const agent::Inside inside;
    key_gathered({graph_, key}, {nullptr, storage_}, 0, 0);
  }
  void release_only(std::int64_t key) {
    const agent::Inside inside;
    release({graph_, key});
  }
  void settle() {
    const agent::Inside inside;
    settle_releases(Settling::kWithCensus);
  }
  void release_and_settle(std::int64_t key) {
    release_only(key);
    settle();
  }
  [[nodiscard]] char read_block(std::uint64_t at) const {
    asm volatile("" ::: "memory");  // after the end of a guard that is inlined before it
    return *const_cast<const volatile char*>(block_ + at);
  }
  std::vector<wire::FenceRecord> recorded() {
    drain();
    return fences_;
  }
  static wire::FenceEvent event(const wire::FenceRecord& record) {
    return static_cast<wire::FenceEvent>(record.header.aux);
  }

  alignas(8) char storage_[kFakeStorageBytes];
  char* block_ = nullptr;
};

TEST_F(Proof, AChosenReleaseIsFencedUntilItsStorageIsGatheredAgain) {
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  EXPECT_EQ(fences(), 1u);
  gather(kChosenKey);
  EXPECT_EQ(fences(), 0u);
  EXPECT_EQ(read_block(0), 1);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(event(records[0]), wire::FenceEvent::kPlaced);
  EXPECT_EQ(records[0].key, kChosenKey);
  EXPECT_EQ(records[0].bytes, 4 * kPage - 8);
  EXPECT_EQ(records[0].open, 0u);
}

TEST_F(Proof, ATouchIsRecordedOnce) {
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  EXPECT_EQ(read_block(kPage + 17), 1);
  EXPECT_EQ(read_block(2 * kPage), 1);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(event(records[1]), wire::FenceEvent::kRead);
  EXPECT_EQ(records[1].storage, reinterpret_cast<std::uint64_t>(storage_));
  EXPECT_EQ(records[1].open, kPage + 17);
}

TEST_F(Proof, ATouchInsideTheAgentIsCounted) {
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  {
    const agent::Inside inside;
    EXPECT_EQ(read_block(0), 1);
    write_unseen_touches();
    write_unseen_touches();
  }
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(event(records[1]), wire::FenceEvent::kTouchUnseen);
  EXPECT_EQ(records[1].bytes, 1u);
}

TEST_F(Proof, OtherReleasesAreNotFenced) {
  gather(kChosenKey + 1);
  release_and_settle(kChosenKey + 1);
  EXPECT_EQ(fences(), 0u);
  EXPECT_TRUE(recorded().empty());
}

TEST_F(Proof, MemoryOfSomebodyElseIsLeftAndSaid) {
  g_of_cpu_allocator = false;
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  EXPECT_EQ(fences(), 0u);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(event(records[0]), wire::FenceEvent::kForeign);
  EXPECT_EQ(records[0].open, 4 * kPage - 8);
}

TEST_F(Proof, ABufferThatAnotherParameterStillUsesIsNotFenced) {
  gather(kChosenKey);
  gather(kChosenKey + 1);
  release_and_settle(kChosenKey);
  EXPECT_EQ(fences(), 0u);
}

TEST_F(Proof, ATouchBetweenTheReleaseAndTheNextOperatorIsRecorded) {
  gather(kChosenKey);
  release_only(kChosenKey);
  EXPECT_EQ(read_block(5), 1);
  settle();
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(event(records[0]), wire::FenceEvent::kRead);
  EXPECT_EQ(event(records[1]), wire::FenceEvent::kPlaced);
}

/// The thread runs an operator with the storage among its inputs, while `body` runs in another one.
void beside_operator(const void* storage, const std::function<void()>& body) {
  TorchThread& thread = *torch_thread();
  RunningOp& op = thread.running[0];
  op.name = "aten::mm";
  op.scope = static_cast<std::uint32_t>(wire::OpScope::kFunction);
  op.watched[0] = storage;
  op.watched_count = 1;
  op.stack = 42;
  op.stack_known = true;
  thread.depth = 1;
  std::thread(body).join();
  thread.depth = 0;
  op.watched_count = 0;
}

TEST_F(Proof, ATouchByAThreadOfAnOperatorIsThatOperators) {
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  beside_operator(storage_, [this] { EXPECT_EQ(read_block(0), 1); });
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_NE(records[1].op, 0u);
  EXPECT_EQ(records[1].stack, 42u);
}

TEST_F(Proof, ATouchBesideAnOperatorOfOtherTensorsIsNotThatOperators) {
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  beside_operator(block_, [this] { EXPECT_EQ(read_block(0), 1); });
  const auto records = recorded();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].op, 0u);
  EXPECT_EQ(records[1].stack, 0u);
}

class Poison : public Proof {
 protected:
  void SetUp() override { set_up("poison=127"); }
};

TEST_F(Poison, OverwritesTheBytesOfTheStorageAndNoOther) {
  gather(kChosenKey);
  release_only(kChosenKey);
  EXPECT_EQ(read_block(0), 1);
  settle();
  EXPECT_EQ(fences(), 0u);
  EXPECT_EQ(read_block(0), 127);
  EXPECT_EQ(read_block(4 * kPage - 9), 127);
  EXPECT_EQ(read_block(4 * kPage - 8), 1);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(event(records[0]), wire::FenceEvent::kPoisoned);
  EXPECT_EQ(records[0].bytes, 4 * kPage - 8);
}

TEST_F(Poison, LeavesMemoryOfSomebodyElse) {
  g_of_cpu_allocator = false;
  gather(kChosenKey);
  release_and_settle(kChosenKey);
  EXPECT_EQ(read_block(0), 1);
  const auto records = recorded();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(event(records[0]), wire::FenceEvent::kForeign);
}

TEST_F(Poison, OtherReleasesAreLeft) {
  gather(kChosenKey + 1);
  release_and_settle(kChosenKey + 1);
  EXPECT_EQ(read_block(0), 1);
  EXPECT_TRUE(recorded().empty());
}

TEST_F(Poison, ResultsAreToldApartByTheirBits) {
  const float numbers[] = {0.0F, -0.0F};
  {
    const agent::Inside inside;
    for (const float& number : numbers) write_result("aten::_local_scalar_dense", &number, sizeof number);
    write_result("aten::_local_scalar_dense", &numbers[0], sizeof numbers[0]);
    write_result("aten::_local_scalar_dense", numbers, sizeof numbers);
  }
  const auto records = recorded();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_NE(records[0].open, records[1].open);
  EXPECT_EQ(records[0].open, records[2].open);
  EXPECT_NE(records[0].open, records[3].open);
  EXPECT_EQ(records[3].bytes, sizeof numbers);
}

class Free : public Proof {
 protected:
  void SetUp() override { set_up("free"); }
};

std::vector<const void*> g_emptied;
bool empty_fake(const void* storage) noexcept {
  g_emptied.push_back(storage);
  return true;
}

TEST_F(Free, WhatIsReleasedAndNotGatheredAgain) {
  g_emptied.clear();
  gather(kChosenKey);
  free_released(empty_fake);
  EXPECT_TRUE(g_emptied.empty());
  release_only(kChosenKey);
  gather(kChosenKey + 1);  // into the same storage: settles the release
  free_released(empty_fake);
  EXPECT_TRUE(g_emptied.empty());
  release_and_settle(kChosenKey + 1);
  gather(kChosenKey);
  release_only(kChosenKey);
  free_released(empty_fake);
  EXPECT_EQ(g_emptied, std::vector<const void*>{storage_});
}

TEST_F(Free, MemoryThatIsAllocatedBeforeDoesNotSettleTheRelease) {
  gather(kChosenKey);
  release_only(kChosenKey);
  {
    const agent::Inside inside;
    settle_releases(Settling::kNoCensus);
  }
  drain();
  EXPECT_EQ(published_.settled, 0);
  g_emptied.clear();
  free_released(empty_fake);
  EXPECT_EQ(g_emptied, std::vector<const void*>{storage_});
  settle();
  drain();
  EXPECT_EQ(published_.settled, 1);
}

}  // namespace
}  // namespace dcmt::torch_provider
