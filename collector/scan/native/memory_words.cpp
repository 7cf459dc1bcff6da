#include "collector/scan/native/memory_words.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
static_assert(kBlock % kPageBytes == 0);

}  // namespace

MemoryWords::MemoryWords(MemorySource& source, std::vector<Range> left_out, bool with_stack) : source_(source) {
  std::ranges::sort(left_out, {}, &Range::begin);
  for (const Region& region : source.regions()) {
    if (!region.readable || !region.writable || (!with_stack && region.path.starts_with("[stack"))) continue;
    Address begin = region.begin;
    for (auto out = std::ranges::upper_bound(left_out, begin, {}, &Range::end);
         out != left_out.end() && out->begin < region.end; ++out) {
      // Whole pages only: other words on a page with data are read, too.
      const Address from = std::max(begin, (out->begin + kPageBytes - 1) & ~(kPageBytes - 1));
      const Address to = out->end & ~(kPageBytes - 1);
      if (from >= to) continue;
      if (begin < from) stretches_.emplace_back(&region, Range{begin, from});
      begin = to;
    }
    if (begin < region.end) stretches_.emplace_back(&region, Range{begin, region.end});
  }
}

std::uint64_t MemoryWords::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [region, stretch] : stretches_) total += stretch.end - stretch.begin;
  return total;
}

/// Reads the pages that the process has written, and sets the others to zero. Returns the bytes until the first
/// unreadable one; 0 if no page was written.
std::size_t MemoryWords::read_block(Address at, std::span<std::byte> bytes) {
  const std::vector<bool> written = source_.written_pages({at, at + bytes.size()});
  std::vector<Piece> pieces;
  for (std::size_t page = 0; page < written.size(); ++page) {
    const std::span<std::byte> into = bytes.subspan(page * kPageBytes, kPageBytes);
    if (!written[page]) {
      std::ranges::fill(into, std::byte{0});
    } else if (page != 0 && written[page - 1]) {
      pieces.back().into = {pieces.back().into.data(), pieces.back().into.size() + kPageBytes};
    } else {
      pieces.push_back({at + page * kPageBytes, into});
    }
  }
  if (pieces.empty()) return 0;
  std::size_t got = source_.read(pieces);
  for (const Piece& piece : pieces) {
    if (got < piece.into.size()) return piece.from - at + got;
    got -= piece.into.size();
  }
  return bytes.size();
}

void MemoryWords::visit(const Region& region, Range block, const Visit& visitor) {
  bytes_.resize(kBlock);
  const std::span<std::byte> wanted = std::span(bytes_).first(std::min<std::size_t>(kBlock, block.end - block.begin));
  const std::size_t got = read_block(block.begin, wanted) & ~std::size_t{7};
  if (got != 0) visitor(region, block.begin, wanted.first(got));
}

void MemoryWords::each_block(const Visit& block) {
  for (const auto& [region, stretch] : stretches_) {
    for (Address at = stretch.begin; at < stretch.end; at += kBlock) visit(*region, {at, stretch.end}, block);
  }
}

void MemoryWords::each_first_block(const Visit& block) {
  for (const auto& [region, stretch] : stretches_) {
    if (stretch.begin == region->begin) visit(*region, stretch, block);
  }
}

}  // namespace dcmt::scan
