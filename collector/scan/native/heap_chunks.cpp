#include "collector/scan/native/heap_chunks.h"

#include <algorithm>
#include <array>

namespace dcmt::scan {
namespace {

// malloc/malloc.c and arena.c of glibc: a chunk's second word has its size, with flags in the low bits.
constexpr Address kHeader = 16;
constexpr Address kFlags = 7, kMapped = 2, kPreviousInUse = 1;
/// Flags in the stored address of a header.
constexpr Address kEnd = 1, kMappedPiece = 2, kFree = 4, kAllFlags = 7;
constexpr Address kSmallest = 32, kAligned = 16;
constexpr Address kArenaHeap = Address{64} << 20;            // heaps of arenas begin at multiples of this
constexpr std::array<Address, 2> kHeapHeads = {0x30, 0x20};  // sizeof(heap_info), from glibc 2.35 and before
constexpr Address kArenaFrom = 0x800, kArenaTo = 0x980;      // sizeof(malloc_state), by version
/// In the lists of small free chunks, each chunk has the address of the next one, or zero, combined with its own
/// address shifted by this.
constexpr Address kLinkShift = 12;
/// A chain of this many matching sizes is no coincidence.
constexpr int kConvincing = 16;

/// The chain of chunks in the copy of a mapping.
class Chain {
 public:
  Chain(const std::byte* bytes, std::size_t size, Address at) : bytes_(bytes), size_(size), at_(at) {}

  /// Size of the chunk at `offset` with its header; 0 if it is invalid.
  [[nodiscard]] Address piece(Address offset) const {
    if (offset + kHeader > size_) return 0;
    Address word = 0;
    std::memcpy(&word, bytes_ + offset + 8, 8);
    const Address length = word & ~kFlags;
    return length < kSmallest || length % kAligned != 0 ? 0 : length;
  }
  [[nodiscard]] bool convinces(Address offset) const {
    int pieces = 0;
    for (; pieces < kConvincing && offset + kHeader <= size_; ++pieces) {
      const Address length = piece(offset);
      if (length == 0 || length > size_ - offset) return false;
      offset += length;
    }
    return pieces == kConvincing || (pieces != 0 && offset == size_);
  }
  /// True if the chunk before the one at `offset` is free, unless it is in a list of small chunks, which keep the flag.
  [[nodiscard]] bool is_previous_free(Address offset) const {
    Address word = 0;
    std::memcpy(&word, bytes_ + offset + 8, 8);
    return (word & kPreviousInUse) == 0;
  }
  [[nodiscard]] bool is_mapped(Address offset) const {
    if (offset + kHeader > size_) return false;
    Address word = 0;
    std::memcpy(&word, bytes_ + offset + 8, 8);
    return (word & kFlags) == kMapped && (word & ~kFlags) % kPageBytes == 0 && (word & ~kFlags) >= kPageBytes;
  }

  /// Offset of the first chunk; nothing if the mapping is not a heap.
  [[nodiscard]] std::optional<Address> first() const {
    // The main heap, which has no name in a core file, or chunks with their own pages.
    if (is_mapped(0) || convinces(0)) return Address{0};
    if (at_ % kArenaHeap != 0 || size_ < kPageBytes) return std::nullopt;
    Address arena = 0;
    std::memcpy(&arena, bytes_, 8);
    for (const Address head : kHeapHeads) {
      if (arena != at_ + head) {
        if (arena % kArenaHeap <= kHeapHeads[0] && convinces(head)) return head;
        continue;
      }
      for (Address offset = head + kArenaFrom; offset < head + kArenaTo; offset += kAligned) {
        if (convinces(offset)) return offset;
      }
    }
    return std::nullopt;
  }

 private:
  const std::byte* bytes_;
  std::size_t size_;
  Address at_;
};

}  // namespace

bool HeapChunks::is_heap(const Region& region, std::span<const std::byte> bytes) {
  return Chain(bytes.data(), bytes.size(), region.begin).first().has_value();
}

void HeapChunks::begin(const Region& region, Address at, std::span<const std::byte> bytes) {
  end_chain(region.begin);
  region_ = &region;
  if (at != region.begin) return;  // the begin of the mapping could not be read
  const Chain chain(bytes.data(), bytes.size(), region.begin);
  const std::optional<Address> first = chain.first();
  if (!first) return;
  are_mapped_ = chain.is_mapped(0);
  next_ = region.begin + *first;
}

void HeapChunks::add_block(const Region& region, Address at, std::span<const std::byte> bytes) {
  if (&region != region_) begin(region, at, bytes);
  const Chain chain(bytes.data(), bytes.size(), at);
  while (next_ >= at && next_ - at + kHeader <= bytes.size()) {
    const Address length = are_mapped_ && !chain.is_mapped(next_ - at) ? 0 : chain.piece(next_ - at);
    if (length == 0) return finish();
    if (!are_mapped_ && chain.is_previous_free(next_ - at) && !begins_.empty() && (begins_.back() & kEnd) == 0)
      begins_.back() |= kFree;
    begins_.push_back(next_ | (are_mapped_ ? kMappedPiece : 0));
    next_ += length;
  }
}

void HeapChunks::finish() { end_chain(0); }

/// Ends the chain of the region. `following`: the begin of the next region; 0: none follows.
void HeapChunks::end_chain(Address following) {
  if (next_ == 0) return;
  // The last chunk before the end of a heap is what malloc has left there: no flag says so. A heap that the kernel has
  // divided goes on in the region that follows.
  if (!are_mapped_ && next_ == region_->end && next_ != following) begins_.back() |= kFree;
  begins_.push_back(std::min(next_, region_->end) | kEnd);
  next_ = 0;
}

std::optional<Range> HeapChunks::containing(Address address) const {
  // The first word of a header belongs to the user of the chunk before it.
  const auto after = std::ranges::upper_bound(begins_, address - sizeof(Address));
  if (after == begins_.begin() || after == begins_.end()) return std::nullopt;
  const Address header = *(after - 1);
  const Address begin = (header & ~kAllFlags) + kHeader;
  const bool shares = (header & kMappedPiece) == 0;
  const Range piece{begin, (*after & ~kAllFlags) + (shares ? sizeof(Address) : 0)};
  if ((header & (kEnd | kFree)) != 0 || address < piece.begin || address >= piece.end) return std::nullopt;
  return piece;
}

std::uint64_t HeapChunks::free_bytes() const {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    if ((begins_[i] & kFree) != 0) bytes += (begins_[i + 1] & ~kAllFlags) - (begins_[i] & ~kAllFlags);
  }
  return bytes;
}

bool HeapChunks::is_listed_as_free(Range piece, Mirror& memory) const {
  const Address next = memory.word(piece.begin) ^ (piece.begin >> kLinkShift);
  if (next == 0) return true;
  // A thread's list has addresses that malloc returned, an arena's list has headers.
  return std::ranges::any_of(std::array{next, next + kHeader}, [&](Address begin) {
    const std::optional<Range> other = containing(begin);
    return other && other->begin == begin && other->end - begin == piece.end - piece.begin;
  });
}

}  // namespace dcmt::scan
