#include "collector/scan/native/heap_pointers.h"

#include <gtest/gtest.h>

#include <array>

namespace dcmt::scan {
namespace {

constexpr Address kHeap = 0x7f00'0000'0000, kEnd = kHeap + 0x10000, kAt = 0x5500'0000'1000;
using Found = std::vector<std::pair<Address, int>>;  // place, number of its target

Found found_in(const HeapPointers& pointers, const std::vector<std::pair<Address, int>>& targets) {
  Found found;
  pointers.each_to<int>(targets, [&](Address place, int number) { found.emplace_back(place, number); });
  return found;
}

TEST(HeapPointers, AreFoundByWhatTheyPointTo) {
  HeapPointers pointers;
  pointers.add_heap({kHeap, kEnd});
  const std::array<Address, 6> words = {kHeap + 0x40, 7, kHeap + 0x20, kHeap + 0x40, kEnd - 0x10, 0};
  pointers.add_block(kAt, std::as_bytes(std::span(words)));
  pointers.add_block(kAt + 0x1000, std::as_bytes(std::span(words).first(1)));
  EXPECT_EQ(found_in(pointers, {{kHeap + 0x20, 1}, {kHeap + 0x40, 2}, {kEnd - 0x10, 3}}),
            (Found{{kAt, 2}, {kAt + 16, 1}, {kAt + 24, 2}, {kAt + 32, 3}, {kAt + 0x1000, 2}}));
  EXPECT_EQ(found_in(pointers, {{kHeap + 0x30, 1}}), Found{});
}

TEST(HeapPointers, AreOnlyAlignedAddressesInsideAHeap) {
  HeapPointers pointers;
  pointers.add_heap({kHeap, kEnd});
  pointers.add_heap({kEnd + 0x1000, kEnd + 0x2000});
  const Address far = Address{1} << 32;  // its page has the same number as that of the heap
  const std::array<Address, 6> words = {kHeap + 8, kHeap - 16, kEnd, kHeap + far, kHeap, kEnd + 0x1000};
  pointers.add_block(kAt, std::as_bytes(std::span(words)));
  EXPECT_EQ(pointers.size(), 2U);
  EXPECT_EQ(found_in(pointers, {{kHeap, 1}, {kEnd + 0x1000, 2}}), (Found{{kAt + 32, 1}, {kAt + 40, 2}}));
}

}  // namespace
}  // namespace dcmt::scan
