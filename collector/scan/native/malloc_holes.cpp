#include "collector/scan/native/malloc_holes.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "collector/scan/native/heap_chunks.h"

namespace dcmt::scan {
namespace {

constexpr Address kHeapsBegin = Address{64} << 20;  // heaps of arenas begin at multiples of this
constexpr Address kPartOfHeap = Address{4} << 20;

bool may_be_heap(const Region& region) {
  return region.writable && (region.path == "[heap]" || (region.path.empty() && region.begin % kHeapsBegin == 0));
}

}  // namespace

std::optional<std::int64_t> free_bytes_of_malloc(MemorySource& memory, std::uint64_t most) {
  std::uint64_t all = 0;
  for (const Region& region : memory.regions()) all += may_be_heap(region) ? region.end - region.begin : 0;
  if (all == 0 || all > most) return std::nullopt;
  std::uint64_t free = 0;
  std::vector<std::byte> block(kPartOfHeap);
  for (const Region& region : memory.regions()) {
    if (!may_be_heap(region)) continue;
    HeapChunks chunks;
    for (Address at = region.begin; at < region.end; at += kPartOfHeap) {
      const Piece piece{at, std::span(block).first(std::min(kPartOfHeap, region.end - at))};
      if (memory.read(std::span(&piece, 1)) != piece.into.size()) break;
      chunks.add_block(region, at, piece.into);
    }
    chunks.finish();
    free += chunks.free_bytes();
  }
  return static_cast<std::int64_t>(free);
}

}  // namespace dcmt::scan
