#include "collector/scan/native/heap_chunks.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "collector/scan/memory/process_memory.h"
#include "collector/scan/native/malloc_holes.h"
#include "collector/scan/native/memory_words.h"
#include "collector/scan/testing/address_of.h"

namespace dcmt::scan {
namespace {

/// The chunks of this process. malloc_usable_size() is malloc's own answer for their sizes.
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

TEST_F(HeapChunksTest, WhatMallocMarksAsFreeIsNone) {
  constexpr std::size_t kLarge = 120'000;  // allocations of the reading itself reuse a part at its begin
  for (int i = 0; i < 3; ++i) allocate(kLarge);
  const Address freed = address_of(pieces_[1]);
  std::free(pieces_[1]);
  pieces_.erase(pieces_.begin() + 1);
  EXPECT_FALSE(read().containing(freed + kLarge - 100));
  check();
}

TEST_F(HeapChunksTest, WhatMallocHasNotYetGivenOutIsNone) {
  // The reading allocates, too: the heap gets more room than it needs.
  constexpr int kRoom = 4 << 20;
  const std::size_t before = address_of(sbrk(0));
  mallopt(M_TOP_PAD, kRoom);
  while (address_of(sbrk(0)) < before + kRoom) allocate(100'000);
  const Address end = address_of(sbrk(0));
  const HeapChunks chunks = read();
  EXPECT_FALSE(chunks.containing(end - sizeof(Address)));
  EXPECT_TRUE(chunks.containing(address_of(pieces_[0])));
  mallopt(M_TOP_PAD, 0);
  malloc_trim(0);
}

TEST_F(HeapChunksTest, SmallFreePiecesAreListed) {
  constexpr std::size_t kFreed = 14;  // a thread's list has at most seven chunks of a size, an arena's list has the
                                      // others
  constexpr std::size_t kBytes = 104;
  for (std::size_t i = 0; i < 2 * kFreed; ++i) {
    allocate(kBytes);
    std::memset(pieces_.back(), 1, kBytes);  // otherwise an old link is there
  }
  Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
  ASSERT_TRUE(memory.ok());
  Mirror mirror(*memory);
  const HeapChunks chunks = read();
  std::vector<Range> ranges;
  for (const void* each : pieces_) ranges.push_back(*chunks.containing(address_of(each)));
  // The reading may have allocated and freed chunks of this size, of which it has no begin.
  std::array<void*, kFreed> used_up{};
  for (void*& each : used_up) each = std::malloc(kBytes);
  for (std::size_t i = 0; i < kFreed; ++i) {
    std::free(pieces_.back());
    pieces_.pop_back();
  }
  std::array<bool, 2 * kFreed> listed{};
  for (std::size_t i = 0; i < ranges.size(); ++i) listed[i] = chunks.is_listed_as_free(ranges[i], mirror);
  for (std::size_t i = 0; i < ranges.size(); ++i) EXPECT_EQ(listed[i], i >= kFreed) << i;
  for (void* each : used_up) std::free(each);
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

TEST_F(HeapChunksTest, WhatIsFreeIsAsMallocCountsIt) {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // the reading's own memory is in no heap then
  for (int i = 0; i < 4'000; ++i) allocate(5'000);
  for (std::size_t i = 0; i < pieces_.size(); i += 2) {
    std::free(pieces_[i]);
    pieces_[i] = nullptr;
  }
  Expected<ProcessMemory> memory = ProcessMemory::open(getpid());
  ASSERT_TRUE(memory.ok());
  const std::optional<std::int64_t> found = free_bytes_of_malloc(*memory, std::uint64_t{1} << 30);
  const auto counted = static_cast<double>(mallinfo2().fordblks);
  ASSERT_TRUE(found);
  EXPECT_GT(counted, 9e6);
  EXPECT_NEAR(static_cast<double>(*found), counted, 0.05 * counted);
  EXPECT_FALSE(free_bytes_of_malloc(*memory, 1 << 20)) << "they are larger";
}

/// Twenty chunks of 48 bytes, and then an invalid small size.
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

/// A heap of 64 chunks of 64 bytes, which ends where its region ends.
TEST(HeapChunksOfTwoRegions, TheLastChunkIsFreeUnlessTheNextRegionFollows) {
  constexpr Address kBegin = 0x10000, kPiece = 64;
  std::vector<std::byte> bytes(kPageBytes);
  for (Address at = 0; at < kPageBytes; at += kPiece) {
    const Address size = kPiece | 1;
    std::memcpy(bytes.data() + at + 8, &size, sizeof size);
  }
  Region heap;
  heap.begin = kBegin;
  heap.end = heap.begin + bytes.size();
  for (const Address gap : {Address{0}, kPageBytes}) {
    Region next;
    next.begin = heap.end + gap;
    next.end = next.begin + bytes.size();
    HeapChunks chunks;
    chunks.add_block(heap, heap.begin, bytes);
    chunks.add_block(next, next.begin, bytes);
    chunks.finish();
    EXPECT_EQ(chunks.containing(heap.end - kPiece + 16).has_value(), gap == 0);
    EXPECT_FALSE(chunks.containing(next.end - kPiece + 16));
    EXPECT_TRUE(chunks.containing(next.end - 2 * kPiece + 16));
  }
}

}  // namespace
}  // namespace dcmt::scan
