#include "collector/scan/native/memory_words.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;

}  // namespace

MemoryWords::MemoryWords(MemorySource& source, std::vector<Range> left_out) : source_(source) {
  std::ranges::sort(left_out, {}, &Range::begin);
  for (const Region& region : source.regions()) {
    if (!region.readable || !region.writable || region.path.starts_with("[stack")) continue;
    Address begin = region.begin;
    for (auto out = std::ranges::upper_bound(left_out, begin, {}, &Range::end);
         out != left_out.end() && out->begin < region.end; ++out) {
      // Whole pages: what shares a page with data is read with it.
      const Address from = (out->begin + kPage - 1) & ~(kPage - 1);
      const Address to = out->end & ~(kPage - 1);
      if (from >= to || from < begin) continue;
      if (begin < from) stretches_.emplace_back(&region, Range{begin, from});
      begin = std::max(begin, to);
    }
    if (begin < region.end) stretches_.emplace_back(&region, Range{begin, region.end});
  }
}

std::uint64_t MemoryWords::bytes() const {
  std::uint64_t total = 0;
  for (const auto& [region, stretch] : stretches_) total += stretch.end - stretch.begin;
  return total;
}

void MemoryWords::each_block(const std::function<void(const Region&, Address, std::span<const std::byte>)>& block) {
  std::vector<std::byte> bytes(kBlock);
  for (const auto& [region, stretch] : stretches_) {
    for (Address at = stretch.begin; at < stretch.end; at += kBlock) {
      const std::size_t wanted = std::min<std::size_t>(kBlock, stretch.end - at);
      const Piece piece{at, std::span(bytes).first(wanted)};
      const std::size_t got = source_.read({&piece, 1}) & ~std::size_t{7};
      if (got != 0) block(*region, at, std::span(bytes).first(got));
    }
  }
}

}  // namespace dcmt::scan
