// Sizes below kFollowedBytes that the recorder asks to track, because the program keeps more and more blocks of them
// (docs/decisions/detail.md).
#include <algorithm>
#include <atomic>
#include <bit>

#include "collector/agent/gate.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {
namespace {

constinit std::atomic<std::uint32_t> g_version{0};  ///< version of `wanted` that was applied last

}  // namespace

void forget_followed_sizes() noexcept {
  g_version.store(0, std::memory_order_relaxed);
  for (auto& sizes : g_hot.followed_sizes) sizes.store(0, std::memory_order_relaxed);
}

bool follows_small_size(std::uint64_t bytes) noexcept {
  if (bytes == 0 || bytes >= static_cast<std::uint64_t>(kFollowedBytes)) return false;
  const std::size_t size_class = size_class_of(static_cast<std::int64_t>(bytes));
  return (g_hot.followed_sizes[size_class / 64].load(std::memory_order_relaxed) >> size_class % 64 & 1) != 0;
}

void apply_followed_sizes() noexcept {
  const spool::Header* header = spool_header();
  if (header == nullptr) return;
  const spool::SmallSizes& asked = header->small_sizes;
  const std::uint32_t version = asked.version.load(std::memory_order_acquire);
  if (version == g_version.load(std::memory_order_relaxed)) return;
  g_version.store(version, std::memory_order_relaxed);
  std::uint64_t smallest = kFollowedBytes;
  for (std::size_t i = 0; i < kSizeClasses / 64; ++i) {
    const std::uint64_t wanted = asked.wanted[i].load(std::memory_order_relaxed);
    g_hot.followed_sizes[i].fetch_or(wanted, std::memory_order_relaxed);
    if (wanted == 0) continue;
    // A storage on a GPU is in a block of whole units, so it can be smaller by almost one unit.
    const std::uint64_t below = (i * 64 + static_cast<std::size_t>(std::countr_zero(wanted))) * kSizeClassBytes;
    smallest = std::min(smallest, below / spool::kGpuUnitBytes * spool::kGpuUnitBytes + 1);
  }
  g_hot.smallest_followed.store(smallest, std::memory_order_relaxed);
}

void show_small_blocks(const void* cpu_blocks, const void* gpu_regions) noexcept {
  spool::SmallSizes& sizes = spool_header()->small_sizes;
  sizes.cpu_blocks.store(reinterpret_cast<std::uint64_t>(cpu_blocks), std::memory_order_release);
  sizes.gpu_regions.store(reinterpret_cast<std::uint64_t>(gpu_regions), std::memory_order_release);
}

}  // namespace dcmt::agent
