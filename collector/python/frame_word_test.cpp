#include "collector/python/frame_word.h"

#include <gtest/gtest.h>

namespace {

constexpr std::uintptr_t kObject = 0x7F12345678A0;  // objects are aligned to 16 bytes
constexpr int kTagged = 1, kPlain = 0;

TEST(FrameWord, WithoutTagsItIsThePointer) {
  for (const std::uintptr_t word : {kObject, std::uintptr_t{0}}) {
    EXPECT_EQ(dcmt_owned_object(word, kPlain), word);
    EXPECT_EQ(dcmt_object_of(word, kPlain), word);
  }
}

TEST(FrameWord, AnOwnedObjectIsOwnedAndRead) {
  EXPECT_EQ(dcmt_owned_object(kObject, kTagged), kObject);
  EXPECT_EQ(dcmt_object_of(kObject, kTagged), kObject);
}

TEST(FrameWord, ABorrowedObjectIsReadByItsAddressWithoutTheTag) {
  EXPECT_EQ(dcmt_owned_object(kObject | 1, kTagged), 0u);
  EXPECT_EQ(dcmt_object_of(kObject | 1, kTagged), kObject);
}

TEST(FrameWord, ASmallIntIsNoObject) {
  for (const std::uintptr_t number : {0, 1, 41, -1}) {
    const std::uintptr_t word = (number << 2) | 3;
    EXPECT_EQ(dcmt_owned_object(word, kTagged), 0u);
    EXPECT_EQ(dcmt_object_of(word, kTagged), 0u);
  }
}

TEST(FrameWord, ASlotWithoutAValueHasNone) {
  for (const std::uintptr_t word : {0, 1}) {
    EXPECT_EQ(dcmt_owned_object(word, kTagged), 0u);
    EXPECT_EQ(dcmt_object_of(word, kTagged), 0u);
  }
}

}  // namespace
