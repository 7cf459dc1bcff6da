#include "collector/scan/native/heap_pointers.h"

#include <cstring>

namespace dcmt::scan {
namespace {

constexpr Address kPointerAligned = 16;  // malloc's results

}  // namespace

void HeapPointers::add_heap(Range heap) {
  heaps_.push_back({heap, heap_words_});
  heap_words_ += static_cast<Number>((heap.end - heap.begin) / sizeof(Address));
  for (Address page = heap.begin; page < heap.end; page += kPageBytes) pages_[page_of(page)] = true;
}

HeapPointers::Number HeapPointers::number_in_heap(Address address) const {
  const auto after = std::ranges::upper_bound(heaps_, address, {}, [](const Heap& heap) { return heap.range.begin; });
  if (after == heaps_.begin()) return kNone;
  const auto& [range, first] = *(after - 1);
  return address < range.end ? first + static_cast<Number>((address - range.begin) / sizeof(Address)) : kNone;
}

Address HeapPointers::place_of(const Word& word) const {
  const auto after = std::ranges::upper_bound(blocks_, word.place, {}, &Block::first);
  const auto& [first, at] = *(after - 1);
  return at + Address{word.place - first} * sizeof(Address);
}

void HeapPointers::add_block(Address at, std::span<const std::byte> bytes) {
  blocks_.push_back({block_words_, at});
  for (std::size_t offset = 0; offset + sizeof(Address) <= bytes.size(); offset += sizeof(Address), ++block_words_) {
    Address word = 0;
    std::memcpy(&word, bytes.data() + offset, sizeof(word));
    if (word % kPointerAligned != 0 || !pages_[page_of(word)]) continue;
    if (const Number target = number_in_heap(word); target != kNone) words_.push_back({target, block_words_});
  }
}

}  // namespace dcmt::scan
