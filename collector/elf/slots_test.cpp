// Tests the ledger of changed slots: which ones are restored, and which ones stay because another tool changed them.
#include "collector/elf/slots.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace dcmt::elf {
namespace {

/// A table of addresses on its own pages, read-only as the loader leaves a virtual table.
class SlotsTest : public testing::Test {
 protected:
  void SetUp() override {
    void* pages = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    table_ = static_cast<void**>(pages);
    for (int i = 0; i < 4; ++i) table_[i] = &original_[i];
    mprotect(pages, bytes_, PROT_READ);
  }
  void TearDown() override {
    undo_slots(nullptr);
    munmap(table_, bytes_);
  }
  bool write(int index, void* value) {
    Mapping around;
    return write_slot(table_ + index, value, around);
  }
  [[nodiscard]] bool is_closed() const {
    return mapping_of(reinterpret_cast<std::uintptr_t>(table_)).protection == PROT_READ;
  }

  const std::size_t bytes_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void** table_ = nullptr;
  char original_[4] = {};
  char ours_[4] = {};
};

TEST_F(SlotsTest, AllIsUndoneAndThePageIsClosedAgain) {
  ASSERT_TRUE(write(0, &ours_[0]));
  ASSERT_TRUE(write(3, &ours_[3]));
  EXPECT_EQ(table_[0], &ours_[0]);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(undo_slots(nullptr), 2u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(table_[i], &original_[i]);
  EXPECT_TRUE(is_closed());
  EXPECT_EQ(undo_slots(nullptr), 0u);
}

TEST_F(SlotsTest, OneHookIsUndoneWhereverItStands) {
  ASSERT_TRUE(write(0, &ours_[0]) && write(1, &ours_[0]) && write(2, &ours_[2]));
  EXPECT_EQ(undo_slots(&ours_[0]), 2u);
  EXPECT_EQ(table_[0], &original_[0]);
  EXPECT_EQ(table_[1], &original_[1]);
  EXPECT_EQ(table_[2], &ours_[2]);
}

TEST_F(SlotsTest, WhatSomebodyElsePutThereStays) {
  ASSERT_TRUE(write(0, &ours_[0]));
  char foreign = 0;
  mprotect(table_, bytes_, PROT_READ | PROT_WRITE);
  table_[0] = &foreign;
  mprotect(table_, bytes_, PROT_READ);
  EXPECT_EQ(undo_slots(nullptr), 0u);
  EXPECT_EQ(table_[0], &foreign);
}

TEST_F(SlotsTest, AChangeOverOursGoesBackToTheFirstOriginal) {
  ASSERT_TRUE(write(0, &ours_[0]) && write(0, &ours_[1]));
  EXPECT_EQ(undo_slots(nullptr), 1u);
  EXPECT_EQ(table_[0], &original_[0]);
}

TEST_F(SlotsTest, AChangeThatWasRevertedIsForgotten) {
  ASSERT_TRUE(write(0, &ours_[0]) && write(0, &original_[0]));
  EXPECT_EQ(undo_slots(nullptr), 0u);
}

TEST_F(SlotsTest, MemoryThatIsGoneIsLeftAlone) {
  ASSERT_TRUE(write(0, &ours_[0]));
  munmap(table_, bytes_);
  EXPECT_EQ(undo_slots(nullptr), 0u);
  EXPECT_FALSE(write(0, &ours_[0]));
}

TEST_F(SlotsTest, WithoutMemoryForTheLedgerASlotStaysAsItIs) {
  const auto slots = static_cast<int>(bytes_ / sizeof(void*));
  mprotect(table_, bytes_, PROT_READ | PROT_WRITE);
  for (int i = 0; i < slots; ++i) table_[i] = &original_[0];
  const auto without_memory = [&] {
    const rlimit nothing_more{1, 1};
    setrlimit(RLIMIT_AS, &nothing_more);
    int written = 0;
    while (written < slots && write(written, &ours_[0])) ++written;
    bool rest_is_as_it_was = written < slots;
    for (int i = written; i < slots; ++i) rest_is_as_it_was = rest_is_as_it_was && table_[i] == &original_[0];
    _exit(rest_is_as_it_was && undo_slots(nullptr) == static_cast<std::size_t>(written) ? 0 : 1);
  };
  EXPECT_EXIT(without_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dcmt::elf
