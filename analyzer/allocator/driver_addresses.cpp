#include "analyzer/allocator/driver_addresses.h"

#include <algorithm>
#include <iterator>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{32} << 20;

std::int64_t chunks_up(std::int64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes; }

}  // namespace

void DriverAddresses::saw(std::int64_t address, std::int64_t bytes) {
  const std::int64_t first = address / kChunkBytes * kChunkBytes;
  const std::int64_t end = chunks_up(address + bytes);
  recorded_.emplace_back(address, bytes);
  const bool is_new = !seen_.contains(first);
  for (std::int64_t chunk = first; chunk < end; chunk += kChunkBytes) seen_.insert(chunk);
  if (!is_new || address == first) return;
  free_[address] = end;
  lowest_ = std::min(lowest_, first);
}

std::int64_t DriverAddresses::take(std::int64_t bytes) {
  const bool is_as_recorded = next_ < recorded_.size() && recorded_[next_].second == bytes;
  const std::int64_t address = is_as_recorded ? recorded_[next_].first : lowest_fit(bytes);
  next_ = is_as_recorded ? next_ + 1 : recorded_.size();
  use(address, bytes);
  return address;
}

std::int64_t DriverAddresses::lowest_fit(std::int64_t bytes) const {
  for (const auto& [from, to] : free_) {
    if (to - from >= bytes) return from;
  }
  return lowest_ - chunks_up(bytes);
}

/// The addresses are no longer free; the rest of a new chunk is.
void DriverAddresses::use(std::int64_t address, std::int64_t bytes) {
  const auto after = free_.upper_bound(address);
  if (after != free_.begin()) {
    const auto [from, to] = *std::prev(after);
    if (address + bytes <= to) {
      free_.erase(from);
      if (from < address) free_[from] = address;
      if (address + bytes < to) free_[address + bytes] = to;
      return;
    }
  }
  const std::int64_t end = chunks_up(address + bytes);
  if (address + bytes < end) free_[address + bytes] = end;
  lowest_ = std::min(lowest_, address / kChunkBytes * kChunkBytes);
}

void DriverAddresses::give_back(std::int64_t address, std::int64_t bytes) {
  auto& to = free_[address] = address + bytes;
  auto at = free_.find(address);
  if (const auto next = std::next(at); next != free_.end() && next->first == to) {
    to = next->second;
    free_.erase(next);
  }
  if (at == free_.begin()) return;
  const auto before = std::prev(at);
  if (before->second != address) return;
  before->second = to;
  free_.erase(at);
}

}  // namespace dcmt::analyzer
