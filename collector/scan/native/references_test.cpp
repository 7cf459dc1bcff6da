#include "collector/scan/native/references.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "collector/scan/testing/address_of.h"
#include "collector/scan/testing/own_memory.h"

namespace dcmt::scan {
namespace {

struct Held {
  long value = 0;
};

/// Containers of this process.
class ReferencesTest : public ::testing::Test {
 protected:
  static NativeObject object(const void* piece, std::vector<const void*> places) {
    NativeObject result;
    result.range = {address_of(piece), address_of(piece) + malloc_usable_size(const_cast<void*>(piece))};
    for (const void* place : places) result.pointers.push_back({address_of(place), true, 0});
    return result;
  }

  /// As the memory is now.
  References& references() {
    memory_.emplace();
    return references_.emplace(memory_->mirror(), types_, heap_);
  }

  TorchLayout layout_;
  CppTypes types_{layout_};
  HeapChunks heap_;
  std::optional<OwnMemory> memory_;
  std::optional<References> references_;
};

TEST_F(ReferencesTest, AnElementThatAVectorHasLostIsSpare) {
  std::vector<Held*> vector(4, nullptr);
  vector.pop_back();
  const NativeObject elements = object(vector.data(), {&vector});
  EXPECT_FALSE(references().is_spare(elements, address_of(&vector[0]), {}));
  EXPECT_FALSE(references().is_spare(elements, address_of(&vector[2]), {}));
  EXPECT_TRUE(references().is_spare(elements, address_of(vector.data() + 3), {}));
}

TEST_F(ReferencesTest, AVectorsMemoryIsAllOfItsChunk) {
  std::vector<Held*> vector(4, nullptr);
  const NativeObject elements = object(vector.data(), {&vector});
  EXPECT_TRUE(references().is_memory_of_vector(elements, address_of(&vector)));
  const std::vector<Held> objects(20);
  const NativeObject larger = object(objects.data(), {});
  const std::array<Address, 3> begin{address_of(objects.data()), address_of(&objects[1]), address_of(&objects[2])};
  const std::array<Address, 3> pointer{address_of(vector.data()), 0, 0};
  EXPECT_FALSE(references().is_memory_of_vector(larger, address_of(begin.data()))) << "more room than it counts";
  EXPECT_FALSE(references().is_memory_of_vector(elements, address_of(pointer.data()))) << "a pointer, no vector";
  vector.pop_back();
  EXPECT_TRUE(references().is_memory_of_vector(elements, address_of(&vector))) << "its capacity has not changed";
}

TEST_F(ReferencesTest, AFreedVectorSaysNothingOfItsMemory) {
  // A small piece that malloc has in a list begins with the address of the next one, combined with its own. The rest of
  // it still has what was there: here a vector without elements and with room for four.
  std::vector<Held*> elements(4, nullptr);
  const Address begin = address_of(elements.data());
  std::array<Address, 4> piece{1, begin, begin, begin + elements.size() * sizeof(Address)};
  const std::vector<NativeObject> objects{{{address_of(piece.data()), address_of(piece.data() + piece.size())}, {}}};
  NativeObject held = object(elements.data(), {});
  held.pointers.push_back({address_of(&piece[1]), false, 0});
  EXPECT_TRUE(references().is_spare(held, begin + 16, objects));

  piece[0] = objects[0].range.begin >> 12;
  EXPECT_FALSE(references().is_spare(held, begin + 16, objects));
}

TEST_F(ReferencesTest, ElementsThatADequeHasLostAreSpare) {
  std::deque<Held*> deque(20, nullptr);
  for (int i = 0; i < 3; ++i) deque.pop_front();
  deque.pop_back();
  Held** const first = &deque.front() - 3;
  // std::deque: list of blocks, its length, and two iterators, whose second words are the begins of their blocks.
  const auto* const words = reinterpret_cast<const Address*>(&deque);
  ASSERT_EQ(words[3], address_of(first));
  const NativeObject block = object(first, {words + 3, words + 7});
  EXPECT_TRUE(references().is_spare(block, address_of(first + 2), {}));
  EXPECT_FALSE(references().is_spare(block, address_of(first + 3), {}));
  EXPECT_FALSE(references().is_spare(block, address_of(first + 18), {}));
  EXPECT_TRUE(references().is_spare(block, address_of(first + 19), {}));
}

TEST_F(ReferencesTest, ASharedPointerKeepsByItsControlBlock) {
  const auto* const shared = new std::shared_ptr<Held>(new Held);
  const auto* const words = reinterpret_cast<const Address*>(shared);
  const std::shared_ptr<Held> another = *shared;
  const void* const control = reinterpret_cast<const void*>(words[1]);  // NOLINT(performance-no-int-to-ptr)
  const NativeObject held = object(shared->get(), {words});
  const NativeObject block = object(control, {words + 1});
  EXPECT_FALSE(references().keeps(held, held.pointers[0]));
  EXPECT_TRUE(references().keeps(block, block.pointers[0]));
  EXPECT_EQ(references().count_of(block), 2U);
  EXPECT_EQ(references().count_of(held), std::nullopt);
  delete shared;
}

}  // namespace
}  // namespace dcmt::scan
