#include "collector/scan/memory/mirror.h"

#include <sys/mman.h>

#include <algorithm>

namespace dcmt::scan {
namespace {

/// After so many pieces in a row of which nothing can be read, the process has ended: further ones are not tried ahead.
constexpr std::size_t kMostFailed = 16;

/// Pages that are read in one call, as objects lie close together. More would need fewer calls and much more memory.
constexpr std::size_t kPartsACall = 2;
constexpr std::size_t kRecent = 4096;
constexpr std::size_t kNone = ~std::size_t{0};
/// Limit of a piece that is read ahead, so that a missing page has a low cost.
constexpr Address kLargestPiece = Address{1} << 20;

}  // namespace

Mirror::Mirror(MemorySource& source)
    : source_(source), regions_(source.regions()), copies_(regions_.size()), recent_(kRecent, ~std::uint32_t{0}) {}

Mirror::~Mirror() {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (copies_[i].bytes != nullptr) munmap(copies_[i].bytes, regions_[i].end - regions_[i].begin);
  }
}

std::size_t Mirror::index_of(Address address) {
  std::uint32_t& recent = recent_[(address >> 16) % kRecent];
  if (recent < regions_.size() && address >= regions_[recent].begin && address < regions_[recent].end) return recent;
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](Address value, const Region& region) { return value < region.begin; });
  if (after == regions_.begin()) return kNone;
  --after;
  if (address >= after->end) return kNone;
  recent = static_cast<std::uint32_t>(after - regions_.begin());
  return recent;
}

const Region* Mirror::region_of(Address address) {
  const std::size_t index = index_of(address);
  return index == kNone ? nullptr : &regions_[index];
}

void Mirror::reserve(std::size_t region) {
  const Region& mapped = regions_[region];
  const std::size_t size = mapped.end - mapped.begin;
  void* bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) return;
  copies_[region].bytes = static_cast<std::byte*>(bytes);
  copies_[region].parts.assign((size >> kPartBits) + 1, kNotRead);
}

bool Mirror::read_parts(std::size_t region, std::size_t first, std::size_t count) {
  const Region& mapped = regions_[region];
  const std::size_t offset = first << kPartBits;
  const std::size_t size = std::min<std::size_t>(count * kPart, mapped.end - mapped.begin - offset);
  const Piece piece{mapped.begin + offset, {copies_[region].bytes + offset, size}};
  const std::size_t got = source_.read({&piece, 1});
  bytes_read_ += got;
  return got == size;
}

bool Mirror::read_part(std::size_t region, std::size_t part) {
  std::vector<std::uint8_t>& parts = copies_[region].parts;
  const std::size_t first = part / kPartsACall * kPartsACall;
  const std::span together(parts.begin() + static_cast<std::ptrdiff_t>(first),
                           std::min(kPartsACall, parts.size() - first));
  if (std::ranges::count(together, kNotRead) == static_cast<std::ptrdiff_t>(kPartsACall) &&
      read_parts(region, first, kPartsACall)) {
    std::ranges::fill(together, kRead);
    return true;
  }
  const bool is_read = read_parts(region, part, 1);
  parts[part] = is_read ? kRead : kUnreadable;
  return is_read;
}

const std::byte* Mirror::find(Address address, std::size_t size) {
  const std::size_t region = index_of(address);
  if (region == kNone) return nullptr;
  const Region& mapped = regions_[region];
  if (!mapped.readable || size > mapped.end - address) return nullptr;
  if (copies_[region].bytes == nullptr) reserve(region);
  Copy& copy = copies_[region];
  if (copy.bytes == nullptr) return nullptr;
  const std::size_t offset = address - mapped.begin;
  const std::size_t last = (offset + (size == 0 ? 0 : size - 1)) >> kPartBits;
  for (std::size_t part = offset >> kPartBits; part <= last; ++part) {
    if (copy.parts[part] == kUsed) continue;
    if (copy.parts[part] == kUnreadable || (copy.parts[part] == kNotRead && !read_part(region, part))) return nullptr;
    copy.parts[part] = kUsed;
  }
  latest_ = {mapped.begin, mapped.end - mapped.begin, copy.bytes, copy.parts.data()};
  return copy.bytes + offset;
}

void Mirror::prefetch(Address address) {
  const std::size_t region = index_of(address);
  if (region == kNone || copies_[region].bytes == nullptr) return;
  __builtin_prefetch(copies_[region].bytes + (address - regions_[region].begin));
}

Address Mirror::word_now(Address address) {
  Address word = 0;
  const Piece piece{address, std::as_writable_bytes(std::span(&word, 1))};
  return source_.read({&piece, 1}) == sizeof(word) ? word : 0;
}

void Mirror::forget(Range range) {
  const std::size_t region = index_of(range.begin);
  if (region == kNone || copies_[region].bytes == nullptr || range.end <= range.begin) return;
  const Region& mapped = regions_[region];
  std::vector<std::uint8_t>& parts = copies_[region].parts;
  const std::size_t first = (range.begin - mapped.begin) >> kPartBits;
  const std::size_t last = (std::min(range.end, mapped.end) - 1 - mapped.begin) >> kPartBits;
  for (std::size_t part = first; part <= last; ++part) parts[part] = kNotRead;
}

std::string Mirror::text(Address address, std::size_t limit) {
  std::string result;
  while (result.size() < limit) {
    const std::byte* byte = at(address + result.size(), 1);
    if (byte == nullptr) return {};
    const char letter = static_cast<char>(*byte);
    if (letter == '\0') break;
    result += letter;
  }
  return result;
}

std::vector<Range> Mirror::ranges_used() const {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    for (std::size_t part = 0; part < copies_[i].parts.size(); ++part) {
      if (copies_[i].parts[part] != kUsed) continue;
      const Address begin = regions_[i].begin + (part << kPartBits);
      const Address end = std::min<Address>(regions_[i].end, begin + kPart);
      if (!ranges.empty() && ranges.back().end == begin) {
        ranges.back().end = end;
      } else {
        ranges.push_back({begin, end});
      }
    }
  }
  return ranges;
}

void Mirror::read_ahead(const std::vector<Range>& ranges) {
  struct Target {
    std::size_t region;
    std::size_t part;
    std::size_t parts;
  };
  std::vector<Piece> pieces;
  std::vector<Target> targets;
  for (const Range& range : ranges) {
    Address next = range.begin;
    while (next < range.end) {
      const std::size_t region = index_of(next);
      if (region == kNone || !regions_[region].readable) {
        next += kPart;  // mappings have changed since
        continue;
      }
      const Region& mapped = regions_[region];
      if (copies_[region].bytes == nullptr) reserve(region);
      if (copies_[region].bytes == nullptr) return;
      std::vector<std::uint8_t>& parts = copies_[region].parts;
      const std::size_t first = (next - mapped.begin) >> kPartBits;
      const std::size_t last = (std::min(range.end, mapped.end) - 1 - mapped.begin) >> kPartBits;
      std::size_t end = first;
      while (end <= last && end - first < kLargestPiece >> kPartBits && parts[end] == kNotRead) parts[end++] = kRead;
      const Address begin = mapped.begin + (first << kPartBits);
      if (end > first) {
        const Address size = std::min<Address>(mapped.end - begin, (end - first) << kPartBits);
        pieces.push_back({begin, {copies_[region].bytes + (begin - mapped.begin), size}});
        targets.push_back({region, first, end - first});
      }
      next = begin + (std::max<Address>(end - first, 1) << kPartBits);
    }
  }
  std::size_t done = 0;
  std::size_t failed = 0;
  while (done < pieces.size()) {
    std::size_t got = failed < kMostFailed ? source_.read(std::span(pieces).subspan(done)) : 0;
    bytes_read_ += got;
    failed = got == 0 ? failed + 1 : 0;
    while (done < pieces.size() && got >= pieces[done].into.size()) got -= pieces[done++].into.size();
    if (done == pieces.size()) break;
    // This piece cannot be read completely; its parts are read on demand.
    const Target& target = targets[done++];
    std::fill_n(copies_[target.region].parts.begin() + static_cast<std::ptrdiff_t>(target.part), target.parts,
                kNotRead);
  }
}

}  // namespace dcmt::scan
