// A second model of torch's caching allocator, for tests of the first: written for clarity alone, from the description
// of the allocator, with lists that are searched from end to end. The addresses are those of the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/allocator/driver_addresses.h"

namespace dcmt::testing {

struct SimulatedSettings {
  bool expandable = false;
  std::int64_t max_split = std::numeric_limits<std::int64_t>::max();
  std::int64_t divisions = 0;
  std::int64_t large_segment = std::int64_t{20} << 20;
};

class SimulatedAllocator {
 public:
  struct Segment {
    std::int64_t address = 0, bytes = 0, stream = 0, pool = 0;
    bool small = false;
  };
  /// A part of a segment that was reserved at once.
  struct Part {
    std::int64_t address = 0, bytes = 0, stream = 0, pool = 0;
  };

  explicit SimulatedAllocator(const SimulatedSettings& settings) : settings_(settings) {}

  /// The block's address. A part that had to be reserved for it: reserved_parts().
  std::int64_t allocate(std::int64_t requested, std::int64_t stream, std::int64_t pool) {
    const std::int64_t bytes = rounded(requested);
    const bool small = bytes <= kMi;
    auto best = chunks_.end();
    for (auto each = chunks_.begin(); each != chunks_.end(); ++each) {
      const Segment& segment = segments_.at(each->second.segment);
      const bool fits = each->second.free && segment.small == small && segment.stream == stream &&
                        segment.pool == pool && each->second.bytes >= bytes;
      if (fits && (best == chunks_.end() || better(*each, *best))) best = each;
    }
    if (best != chunks_.end() && refuses_best(best->second.bytes, bytes)) best = chunks_.end();
    if (best == chunks_.end())
      best = settings_.expandable ? grown(bytes, stream, pool, small) : reserve(bytes, stream, pool, small);
    const std::int64_t rest = best->second.bytes - bytes;
    const bool cuts = small || settings_.expandable ? rest >= 512 : rest > kMi && bytes < settings_.max_split;
    if (cuts) {
      chunks_[best->first + bytes] = {rest, best->second.segment, true};
      best->second.bytes = bytes;
    }
    best->second.free = false;
    allocated_ += best->second.bytes;
    allocated_peak_ = std::max(allocated_peak_, allocated_);
    return best->first;
  }

  void free(std::int64_t address) {
    auto chunk = chunks_.find(address);
    chunk->second.free = true;
    allocated_ -= chunk->second.bytes;
    const auto is_one = [](const auto& a, const auto& b) { return b.free && a.free && a.segment == b.segment; };
    if (const auto next = std::next(chunk); next != chunks_.end() && is_one(chunk->second, next->second)) {
      chunk->second.bytes += next->second.bytes;
      chunks_.erase(next);
    }
    if (chunk == chunks_.begin()) return;
    const auto before = std::prev(chunk);
    if (!is_one(before->second, chunk->second)) return;
    before->second.bytes += chunk->second.bytes;
    chunks_.erase(chunk);
  }

  /// Gives back what has no block; the addresses of it. Not of expandable segments.
  std::vector<std::int64_t> give_back() {
    std::vector<std::int64_t> addresses;
    for (auto chunk = chunks_.begin(); chunk != chunks_.end();) {
      const Segment& segment = segments_.at(chunk->second.segment);
      const bool is_whole = chunk->second.free && chunk->second.bytes == segment.bytes && !settings_.expandable;
      if (is_whole) addresses.push_back(chunk->first);
      chunk = is_whole ? chunks_.erase(chunk) : std::next(chunk);
    }
    for (const std::int64_t address : addresses) {
      reserved_ -= segments_.at(address).bytes;
      segments_.erase(address);
    }
    return addresses;
  }

  [[nodiscard]] std::int64_t bytes_of(std::int64_t address) const { return chunks_.at(address).bytes; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t reserved_peak() const { return reserved_peak_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t allocated_peak() const { return allocated_peak_; }
  /// Since the last call.
  [[nodiscard]] std::vector<Part> reserved_parts() { return std::exchange(parts_, {}); }

 private:
  static constexpr std::int64_t kMi = std::int64_t{1} << 20;
  /// Room for one expandable segment.
  static constexpr std::int64_t kApart = std::int64_t{1} << 40;

  struct Chunk {
    std::int64_t bytes = 0;
    std::int64_t segment = 0;  ///< the address of its segment
    bool free = true;
  };
  using Chunks = std::map<std::int64_t, Chunk>;

  static std::int64_t up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

  [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const {
    bytes = std::max<std::int64_t>(bytes, 512);
    if (settings_.divisions > 1 && bytes > 512 * settings_.divisions) {
      std::int64_t power = 1;
      while (power * 2 <= bytes) power *= 2;
      return power == bytes ? bytes : up(bytes, power / settings_.divisions);
    }
    return up(bytes, 512);
  }

  [[nodiscard]] bool refuses_best(std::int64_t chunk, std::int64_t bytes) const {
    if (bytes < settings_.max_split) return chunk >= settings_.max_split;
    return chunk >= bytes + 20 * kMi;
  }

  [[nodiscard]] bool is_last(const Chunks::value_type& chunk) const {
    const Segment& segment = segments_.at(chunk.second.segment);
    return chunk.first + chunk.second.bytes == segment.address + segment.bytes;
  }

  /// The end of an expandable segment can grow, so it is taken last.
  [[nodiscard]] bool better(const Chunks::value_type& a, const Chunks::value_type& b) const {
    if (settings_.expandable && is_last(a) != is_last(b)) return is_last(b);
    return a.second.bytes < b.second.bytes;
  }

  Chunks::iterator reserve(std::int64_t bytes, std::int64_t stream, std::int64_t pool, bool small) {
    const std::int64_t size = small ? 2 * kMi : bytes < 10 * kMi ? settings_.large_segment : up(bytes, 2 * kMi);
    const std::int64_t address = addresses_.take(size);
    segments_[address] = {address, size, stream, pool, small};
    parts_.push_back({address, size, stream, pool});
    add_reserved(size);
    return chunks_.emplace(address, Chunk{size, address, true}).first;
  }

  /// One segment for each stream, pool and kind, which grows at its end by whole pages.
  Chunks::iterator grown(std::int64_t bytes, std::int64_t stream, std::int64_t pool, bool small) {
    const auto found = std::ranges::find_if(segments_, [&](const auto& each) {
      return each.second.stream == stream && each.second.pool == pool && each.second.small == small;
    });
    const bool is_new = found == segments_.end();
    const std::int64_t address = is_new ? next_ : found->first;
    if (is_new) {
      next_ += kApart;
      segments_[address] = {address, 0, stream, pool, small};
    }
    Segment& segment = segments_.at(address);
    auto last = chunks_.end();
    if (segment.bytes > 0) last = std::prev(chunks_.lower_bound(segment.address + segment.bytes));
    const bool goes_on = last != chunks_.end() && last->second.free;
    const std::int64_t had = goes_on ? last->second.bytes : 0;
    const std::int64_t more = up(std::max<std::int64_t>(bytes - had, 0), small ? 2 * kMi : settings_.large_segment);
    parts_.push_back({segment.address + segment.bytes, more, stream, pool});
    add_reserved(more);
    if (!goes_on) last = chunks_.emplace(segment.address + segment.bytes, Chunk{0, address, true}).first;
    segment.bytes += more;
    last->second.bytes += more;
    return last;
  }

  void add_reserved(std::int64_t bytes) {
    reserved_ += bytes;
    reserved_peak_ = std::max(reserved_peak_, reserved_);
  }

  SimulatedSettings settings_;
  analyzer::DriverAddresses addresses_;
  std::map<std::int64_t, Segment> segments_;
  Chunks chunks_;
  std::vector<Part> parts_;
  std::int64_t next_ = std::int64_t{1} << 48;
  std::int64_t reserved_ = 0, reserved_peak_ = 0, allocated_ = 0, allocated_peak_ = 0;
};

}  // namespace dcmt::testing
