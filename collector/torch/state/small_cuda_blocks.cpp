#include "collector/torch/state/small_cuda_blocks.h"

#include <atomic>
#include <cstddef>

#include "collector/agent/provider.h"
#include "trace/base/followed_bytes.h"
#include "trace/spool/small_sizes.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint64_t kUnit = 512;
constexpr unsigned kRegionBits = 21;
constexpr std::size_t kUnits = (std::size_t{1} << kRegionBits) / kUnit;

/// Size of the block that begins at a unit, in units; 0: no block in a sum begins here.
using Size = std::atomic<std::uint8_t>;
static_assert((kFollowedBytes - 1) / kUnit <= 0xff);

/// 2 MiB of addresses that have had tracked blocks. It stays for ever, because segments reuse addresses.
struct Region {
  std::atomic<std::uint64_t> number;  ///< address / 2 MiB; 0: unused
  std::atomic<Size*> sizes;           ///< nullptr: another thread is about to set it, or there is no memory
};
constexpr unsigned kTableBits = 13;  // 16 GiB, if no other addresses are used
constexpr std::uint32_t kProbes = 16;
constinit Region g_regions[1u << kTableBits] = {};
static_assert(sizeof g_regions == spool::kGpuRegions * sizeof(spool::GpuRegion));
static_assert(offsetof(Region, number) == offsetof(spool::GpuRegion, number) &&
              offsetof(Region, sizes) == offsetof(spool::GpuRegion, sizes));
static_assert(kUnit == spool::kGpuUnitBytes && kUnits == spool::kGpuUnits);

/// The place of the size of a block at the address; nullptr: none.
Size* size_at(std::uint64_t address, bool make) noexcept {
  const std::uint64_t number = address >> kRegionBits;
  const std::uint64_t first = number * 0x9E3779B97F4A7C15u >> (64 - kTableBits);  // Fibonacci hashing
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    Region& region = g_regions[(first + probe) % (1u << kTableBits)];
    std::uint64_t found = region.number.load(std::memory_order_relaxed);
    if (found == 0) {
      if (!make) return nullptr;
      if (region.number.compare_exchange_strong(found, number, std::memory_order_relaxed)) {
        region.sizes.store(static_cast<Size*>(agent::arena(kUnits)), std::memory_order_release);
        found = number;
      }
    }
    if (found != number) continue;
    Size* sizes = region.sizes.load(std::memory_order_acquire);
    return sizes != nullptr ? &sizes[address / kUnit % kUnits] : nullptr;
  }
  static constinit std::atomic<bool> said{false};
  if (make && !said.exchange(true)) {
    agent::diagnose(
        wire::DiagnosticCode::kNote,
        "small CUDA blocks lie at more places than are followed: those at new ones are recorded one by one");
  }
  return nullptr;
}

}  // namespace

const void* small_cuda_regions() noexcept { return g_regions; }

std::optional<std::uint64_t> track_small_cuda_block(std::uint64_t address, std::uint64_t bytes) noexcept {
  if ((address | bytes) % kUnit != 0) return std::nullopt;
  Size* size = size_at(address, /*make=*/true);
  if (size == nullptr) return std::nullopt;
  const std::uint64_t before = size->load(std::memory_order_relaxed) * kUnit;
  size->store(static_cast<std::uint8_t>(bytes / kUnit), std::memory_order_relaxed);
  return before;
}

std::uint64_t forget_small_cuda_block(std::uint64_t address) noexcept {
  Size* size = address % kUnit == 0 ? size_at(address, /*make=*/false) : nullptr;
  if (size == nullptr) return 0;
  const std::uint64_t bytes = size->load(std::memory_order_relaxed) * kUnit;
  if (bytes != 0) size->store(0, std::memory_order_relaxed);
  return bytes;
}

}  // namespace dcmt::torch_provider
