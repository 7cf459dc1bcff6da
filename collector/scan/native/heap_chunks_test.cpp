#include "collector/scan/native/heap_chunks.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/native/memory_words.h"

namespace dcmt::scan {
namespace {

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

/// What malloc has handed out, of this very process: its own word for the sizes is malloc_usable_size().
class HeapChunksTest : public ::testing::Test {
 protected:
#ifdef __SANITIZE_ADDRESS__
  void SetUp() override { GTEST_SKIP() << "the sanitizer has a malloc of its own"; }
#endif
  ~HeapChunksTest() override {
    for (void* each : pieces_) std::free(each);
  }
  void allocate(std::size_t bytes) { pieces_.push_back(std::malloc(bytes)); }

  static HeapChunks read() {
    Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
    EXPECT_TRUE(memory.ok());
    HeapChunks chunks;
    MemoryWords(*memory, {}).each_block([&](const Region& region, Address at, std::span<const std::byte> bytes) {
      chunks.add_block(region, at, bytes);
    });
    chunks.finish();
    return chunks;
  }
  void check() const {
    const HeapChunks chunks = read();
    for (void* piece : pieces_) {
      const Address begin = address_of(piece);
      const std::size_t size = malloc_usable_size(piece);
      for (const Address inside : {begin, begin + size / 2, begin + size - 1}) {
        const std::optional<Range> found = chunks.containing(inside);
        ASSERT_TRUE(found) << size;
        EXPECT_EQ(found->begin, begin);
        EXPECT_EQ(found->end, begin + size);
      }
    }
  }

  std::vector<void*> pieces_;
};

TEST_F(HeapChunksTest, OfTheMainHeap) {
  for (std::size_t bytes = 1; bytes < 5'000; bytes += 7) allocate(bytes);
  check();
}

TEST_F(HeapChunksTest, WithPagesOfTheirOwn) {
  for (const std::size_t bytes : {200'000, 1'000'000, 5'000'000, 40'000'000}) allocate(bytes);
  check();
}

TEST_F(HeapChunksTest, OfAThread) {
  std::thread([&] {
    for (std::size_t bytes = 1; bytes < 3'000; bytes += 7) allocate(bytes);
  }).join();
  check();
}

TEST_F(HeapChunksTest, WhatIsNotMallocsHasNone) {
  static int variable = 0;
  int local = 0;
  const HeapChunks chunks = read();
  EXPECT_FALSE(chunks.containing(address_of(&variable)));
  EXPECT_FALSE(chunks.containing(address_of(&local)));
  EXPECT_FALSE(chunks.containing(0));
  EXPECT_FALSE(chunks.containing(~Address{0}));
}

/// Twenty pieces of 48 bytes, and then a size that is smaller than any.
TEST(HeapChunksOfGarbage, EndWhereASizeMakesNoSense) {
  constexpr Address kBegin = 0x10000, kPiece = 48, kPieces = 20;
  std::vector<std::byte> bytes(1 << 16);
  for (Address i = 0; i <= kPieces; ++i) {
    const Address size = i < kPieces ? kPiece | 1 : 17;
    std::memcpy(bytes.data() + i * kPiece + 8, &size, sizeof size);
  }
  Region heap;
  heap.begin = kBegin;
  heap.end = heap.begin + bytes.size();
  HeapChunks chunks;
  chunks.add_block(heap, heap.begin, bytes);
  chunks.finish();
  const std::optional<Range> last = chunks.containing(kBegin + kPieces * kPiece - 8);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->begin, kBegin + (kPieces - 1) * kPiece + 16);
  EXPECT_EQ(last->end, kBegin + kPieces * kPiece + 8);
  EXPECT_FALSE(chunks.containing(kBegin + kPieces * kPiece + 16));
}

}  // namespace
}  // namespace dcmt::scan
