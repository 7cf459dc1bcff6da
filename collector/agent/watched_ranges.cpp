// The table for watch_range() of provider.h. It is sorted by address and read without a lock. A writer makes the
// version odd while it moves entries; a reader that sees an odd or a changed version reads again.
#include <algorithm>
#include <atomic>

#include "collector/agent/provider.h"

namespace dcmt::agent {
namespace {

constexpr std::uint32_t kRanges = 1024;
constexpr int kPatience = 4096;  ///< tries of a writer while another one changes the table
constexpr int kMostTries = 256;  ///< tries of a reader while the table changes

struct Range {
  std::atomic<std::uint64_t> begin;
  std::atomic<std::uint64_t> end;
  std::atomic<const void*> owner;
};

constinit Range g_ranges[kRanges];
constinit std::atomic<std::uint32_t> g_count{0};
constinit std::atomic<std::uint32_t> g_version{0};

// A reader that sees one store of a change must also see the odd version before it, so all stores are ordered.
constexpr auto kSee = std::memory_order_acquire;
constexpr auto kChange = std::memory_order_release;

void copy(const Range& from, Range& to) noexcept {
  to.begin.store(from.begin.load(kSee), kChange);
  to.end.store(from.end.load(kSee), kChange);
  to.owner.store(from.owner.load(kSee), kChange);
}

/// The first range that begins beyond `address`.
std::uint32_t first_beyond(std::uint64_t address, std::uint32_t count) noexcept {
  std::uint32_t low = 0;
  for (std::uint32_t high = count; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (g_ranges[middle].begin.load(kSee) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Allows one writer at a time.
class Change {
 public:
  Change() noexcept {
    for (int i = 0; i < kPatience && !owned; ++i) {
      std::uint32_t version = g_version.load(std::memory_order_relaxed);
      owned = version % 2 == 0 && g_version.compare_exchange_strong(version, version + 1, std::memory_order_acquire);
    }
  }
  ~Change() {
    if (owned) g_version.fetch_add(1, std::memory_order_release);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  bool owned = false;
};

}  // namespace

void forget_ranges() noexcept {
  g_count.store(0, std::memory_order_relaxed);
  if (g_version.load(std::memory_order_relaxed) % 2 != 0) g_version.fetch_add(1, std::memory_order_relaxed);
}

bool watch_range(const void* owner, std::uint64_t begin, std::uint64_t bytes) noexcept {
  const Change change;
  const std::uint32_t count = g_count.load(kSee);
  if (!change.owned || count == kRanges) return false;
  const std::uint32_t place = first_beyond(begin, count);
  for (std::uint32_t i = count; i > place; --i) copy(g_ranges[i - 1], g_ranges[i]);
  g_ranges[place].begin.store(begin, kChange);
  g_ranges[place].end.store(begin + bytes, kChange);
  g_ranges[place].owner.store(owner, kChange);
  g_count.store(count + 1, kChange);
  return true;
}

bool unwatch_range(const void* owner) noexcept {
  if (watched_ranges() == 0) return false;
  const Change change;
  if (!change.owned) return false;
  const std::uint32_t count = g_count.load(kSee);
  std::uint32_t place = 0;
  while (place < count && g_ranges[place].owner.load(kSee) != owner) ++place;
  if (place == count) return false;
  for (std::uint32_t i = place + 1; i < count; ++i) copy(g_ranges[i], g_ranges[i - 1]);
  g_count.store(count - 1, kChange);
  return true;
}

std::uint32_t watched_ranges() noexcept { return g_count.load(kSee); }

WatchedRange range_at(std::uint64_t address) noexcept {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const std::uint32_t version = g_version.load(std::memory_order_acquire);
    if (version % 2 != 0) continue;
    const std::uint32_t beyond = first_beyond(address, std::min(g_count.load(kSee), kRanges));
    WatchedRange found{nullptr, 0, false};
    if (beyond > 0) {
      const Range& range = g_ranges[beyond - 1];
      const std::uint64_t end = range.end.load(kSee);
      if (address < end) found = {range.owner.load(kSee), end - range.begin.load(kSee), false};
    }
    if (g_version.load(std::memory_order_relaxed) == version) return found;
  }
  return {nullptr, 0, true};
}

}  // namespace dcmt::agent
