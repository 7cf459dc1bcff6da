#include "collector/torch/state/known_blocks.h"

#include "collector/agent/provider.h"
#include "collector/torch/state/block_bucket.h"
#include "trace/arch/arch.h"
#include "trace/base/followed_bytes.h"
#include "trace/spool/small_sizes.h"

namespace dcmt::torch_provider {
namespace {

constexpr unsigned kBucketBits = 13;
constinit BlockBucket* g_buckets = nullptr;

constexpr std::uint32_t kThreads = 64;  ///< further threads use only the table
constinit RecentBlocks* g_recent = nullptr;
constinit RecentBlocks g_none = {};                     ///< for threads that use only the table: always empty
constinit std::atomic<std::uint32_t> g_recent_used{0};  ///< all lines that were ever owned are below this index

// One word for each block. Torch's CPU allocator aligns every block to at least 64 bytes, and a program's addresses
// have at most arch::kAddressBits bits.
constexpr unsigned kAlignBits = 6;
constexpr unsigned kBytesBits = 16;
static_assert(arch::kAddressBits - kAlignBits + kBytesBits <= 64);
static_assert(kFollowedBytes == 1 << kBytesBits && kBytesBits == spool::kCpuBytesBits);
static_assert((sizeof(BlockBucket) << kBucketBits) == spool::kCpuBlocks * sizeof(std::uint64_t));

constexpr std::uint64_t pack(std::uint64_t address, std::uint64_t bytes) noexcept {
  return address >> kAlignBits << kBytesBits | bytes;
}
constexpr bool can_pack(std::uint64_t address, std::uint64_t bytes) noexcept {
  return bytes != 0 && bytes < kFollowedBytes && address % (1u << kAlignBits) == 0 &&
         address >> arch::kAddressBits == 0;
}
constexpr bool is_at(std::uint64_t block, std::uint64_t address) noexcept {
  return block >> kBytesBits == address >> kAlignBits && block != 0;
}
constexpr std::uint64_t address_of(std::uint64_t block) noexcept { return block >> kBytesBits << kAlignBits; }
constexpr std::uint64_t bytes_of(std::uint64_t block) noexcept { return block & ((1u << kBytesBits) - 1); }

/// Neighbouring addresses share a line: a program's small blocks lie close together, and it reuses them.
BlockBucket& bucket_at(std::uint64_t address) noexcept {
  constexpr unsigned kBitsOfLine = 10;  // bits of an address within the memory whose blocks share a line
  return g_buckets[(address >> kBitsOfLine) & ((1u << kBucketBits) - 1)];
}
BlockBucket& bucket_of(std::uint64_t block) noexcept { return bucket_at(address_of(block)); }

RecentBlocks* acquire_recent_blocks() noexcept {
  for (std::uint32_t i = 0; i < kThreads; ++i) {
    auto& owned = g_recent[i].owned;
    if (owned.load(std::memory_order_relaxed) != 0 || owned.exchange(1, std::memory_order_acquire) != 0) continue;
    std::uint32_t used = g_recent_used.load(std::memory_order_relaxed);
    while (used <= i && !g_recent_used.compare_exchange_weak(used, i + 1)) {
    }
    return &g_recent[i];
  }
  return &g_none;
}

/// Removes a block from the calling thread's line. No other thread frees this block.
std::uint64_t remove_from_own(RecentBlocks& recent, std::uint64_t address) noexcept {
  for (auto& entry : recent.blocks) {
    const std::uint64_t block = entry.load(std::memory_order_relaxed);
    if (!is_at(block, address)) continue;
    entry.store(0, std::memory_order_relaxed);
    return block;
  }
  return 0;
}

std::uint64_t remove_from_others(const RecentBlocks* own, std::uint64_t address) noexcept {
  const std::uint32_t used = g_recent_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    if (&g_recent[i] == own) continue;
    for (auto& entry : g_recent[i].blocks) {
      std::uint64_t block = entry.load(std::memory_order_acquire);
      if (is_at(block, address) && entry.compare_exchange_strong(block, 0)) return block;
    }
  }
  return 0;
}

std::uint64_t remove_from_table(std::uint64_t address) noexcept {
  return bucket_at(address).remove([address](std::uint64_t block) { return is_at(block, address); }).value_or(0);
}

}  // namespace

void forget_blocks() noexcept { g_recent_used.store(0, std::memory_order_relaxed); }

bool make_block_table() noexcept {
  if (g_buckets != nullptr) return true;
  g_buckets = static_cast<BlockBucket*>(agent::arena(sizeof(BlockBucket) << kBucketBits));
  g_recent = static_cast<RecentBlocks*>(agent::arena(sizeof(RecentBlocks) * kThreads));
  return g_buckets != nullptr && g_recent != nullptr;
}

const void* block_table() noexcept { return g_buckets; }

bool track_block(RecentBlocks*& recent, std::uint64_t address, std::uint64_t bytes) noexcept {
  if (!can_pack(address, bytes)) return false;
  const std::uint64_t block = pack(address, bytes);
  if (recent == nullptr) recent = acquire_recent_blocks();
  if (recent == &g_none) return bucket_of(block).insert(block);
  for (auto& entry : recent->blocks) {
    if (entry.load(std::memory_order_relaxed) != 0) continue;
    entry.store(block, std::memory_order_release);
    return true;
  }
  auto& entry = recent->blocks[recent->moves_next];
  recent->moves_next = (recent->moves_next + 1) % RecentBlocks::kBlocks;
  // Prefetches the line that the next block will need.
  const std::uint64_t next = recent->blocks[recent->moves_next].load(std::memory_order_relaxed);
  arch::fetch_to_write(bucket_of(next));
  const std::uint64_t older = entry.load(std::memory_order_relaxed);
  if (older != 0 && !bucket_of(older).insert(older)) return bucket_of(block).insert(block);
  // For a short time the block is in both places, so that a thread that searches the line and then the table finds it.
  // If another thread has found it in the line and freed it, it is removed from the table, too.
  std::uint64_t expected = older;
  if (!entry.compare_exchange_strong(expected, block)) {
    bucket_of(older).remove([older](std::uint64_t other) { return other == older; });
    entry.store(block, std::memory_order_release);
  }
  return true;
}

std::uint64_t forget_block(RecentBlocks* recent, std::uint64_t address) noexcept {
  if (address % (1u << kAlignBits) != 0) return 0;
  std::uint64_t block = recent != nullptr ? remove_from_own(*recent, address) : 0;
  if (block == 0) block = remove_from_table(address);
  if (block == 0) block = remove_from_others(recent, address);
  // Between the two searches, the block may have moved from another thread's line to the table.
  if (block == 0) block = remove_from_table(address);
  return bytes_of(block);
}

void give_back_recent_blocks(RecentBlocks* recent) noexcept {
  if (recent != nullptr) recent->owned.store(0, std::memory_order_release);
}

}  // namespace dcmt::torch_provider
