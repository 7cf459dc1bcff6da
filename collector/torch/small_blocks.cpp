#include "collector/torch/small_blocks.h"

#include <atomic>
#include <optional>

#include "collector/agent/provider.h"
#include "collector/torch/allocator_hooks.h"
#include "collector/torch/block_bucket.h"
#include "collector/torch/layout.h"
#include "collector/torch/pinned_blocks.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

/// What a device has in small blocks. `high` is the most since the last record, raised by whoever adds, lowered by
/// whoever writes: one thread at a time. An addition at the very moment of a record may be told by the next one only.
struct alignas(64) Sum {
  std::atomic<std::int64_t> now;
  std::atomic<std::int64_t> high;
  std::atomic<std::int64_t> told;
  std::atomic<bool> added_to;  ///< since the last exact moment; if not, a forward pass may begin with the next one
  std::atomic<bool> busy;
};
constexpr std::uint32_t kDevices = 128;
constinit Sum g_sums[kDevices] = {};
constinit std::atomic<std::uint32_t> g_devices{0};  ///< all that have a sum are below

/// The blocks in the sums, in buckets of a cache line by address. A block that finds its bucket full is told.
constexpr unsigned kBucketBits = 13;
constinit BlockBucket* g_buckets = nullptr;

// One word each. Torch's allocators align every block to 64 bytes at least, and no address of a program has more than
// 47 bits.
constexpr unsigned kAlignBits = 6;
constexpr unsigned kBytesBits = 16;
constexpr unsigned kDeviceBits = 7;
constexpr unsigned kAddressBits = 64 - kBytesBits - kDeviceBits;
static_assert(kFollowedBytes == 1 << kBytesBits && kDevices == 1 << kDeviceBits);

constexpr std::uint64_t pack(std::uint64_t address, std::uint64_t bytes, std::uint32_t device) noexcept {
  return address >> kAlignBits << (kBytesBits + kDeviceBits) | bytes << kDeviceBits | device;
}
constexpr bool is_of(std::uint64_t block, std::uint64_t address) noexcept {
  return block >> (kBytesBits + kDeviceBits) == address >> kAlignBits && block != 0;
}
constexpr std::int64_t bytes_of(std::uint64_t block) noexcept {
  return static_cast<std::int64_t>(block >> kDeviceBits & ((1u << kBytesBits) - 1));
}
constexpr std::uint32_t device_of(std::uint64_t block) noexcept { return block & (kDevices - 1); }

bool can_pack(std::uint32_t device, std::uint64_t address, std::uint64_t bytes) noexcept {
  return bytes != 0 && bytes < kFollowedBytes && device < kDevices && address % (1u << kAlignBits) == 0 &&
         address >> (kAddressBits + kAlignBits) == 0;
}

/// Neighbours share a line: a program's small blocks lie close together, and the same ones are used again and again.
BlockBucket& bucket_of(std::uint32_t device, std::uint64_t address) noexcept {
  // Bits of an address within the memory whose blocks share a line. On CUDA that has four of the smallest blocks.
  constexpr unsigned kCpuBits = 10;
  constexpr unsigned kCudaBits = 11;
  const unsigned bits = device == wire::kCpuDevice ? kCpuBits : kCudaBits;
  return g_buckets[(address >> bits) & ((1u << kBucketBits) - 1)];
}

/// The block at this address, which the caller alone gives back.
std::optional<std::uint64_t> take(std::uint32_t device, std::uint64_t address) noexcept {
  return bucket_of(device, address).take([address](std::uint64_t block) { return is_of(block, address); });
}

void raise(std::atomic<std::int64_t>& high, std::int64_t bytes) noexcept {
  std::int64_t before = high.load(std::memory_order_relaxed);
  while (before < bytes && !high.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

void write(std::uint32_t device, Sum& sum, std::int64_t bytes) noexcept {
  auto* record = static_cast<wire::SmallBlocksRecord*>(
      agent::begin_record(wire::RecordType::kSmallBlocks, sizeof(wire::SmallBlocksRecord), device));
  if (record == nullptr) return;
  record->bytes = static_cast<std::uint64_t>(bytes);
  agent::commit_record(record);
  sum.told.store(bytes, std::memory_order_relaxed);
}

void tell(std::uint32_t device, Sum& sum) noexcept {
  if (sum.busy.exchange(true, std::memory_order_acquire)) return;
  const std::int64_t high = sum.high.load(std::memory_order_relaxed);
  const std::int64_t now = sum.now.load(std::memory_order_relaxed);
  if (high > now && high > sum.told.load(std::memory_order_relaxed)) write(device, sum, high);
  if (now != sum.told.load(std::memory_order_relaxed)) write(device, sum, now);
  sum.high.store(now, std::memory_order_relaxed);
  sum.busy.store(false, std::memory_order_release);
}

void grow(std::uint32_t device, std::int64_t bytes) noexcept {
  Sum& sum = g_sums[device];
  raise(sum.high, sum.now.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  if (device >= g_devices.load(std::memory_order_relaxed)) {
    std::uint32_t devices = g_devices.load(std::memory_order_relaxed);
    while (devices <= device && !g_devices.compare_exchange_weak(devices, device + 1, std::memory_order_relaxed)) {
    }
  }
  if (sum.added_to.load(std::memory_order_relaxed)) return;
  sum.added_to.store(true, std::memory_order_relaxed);
  tell(device, sum);
}

}  // namespace

bool make_small_block_table() noexcept {
  g_buckets = static_cast<BlockBucket*>(agent::arena(sizeof(BlockBucket) << kBucketBits));
  return g_buckets != nullptr;
}

bool add_small_block(std::uint32_t device, const void* address, std::uint64_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  if (agent::full_detail() || !can_pack(device, at, bytes) || !bucket_of(device, at).insert(pack(at, bytes, device)))
    return false;
  grow(device, static_cast<std::int64_t>(bytes));
  return true;
}

bool remove_small_block(std::uint32_t device, const void* address) noexcept {
  if (agent::full_detail()) return false;
  const std::optional<std::uint64_t> block = take(device, reinterpret_cast<std::uint64_t>(address));
  if (!block) return false;
  g_sums[device_of(*block)].now.fetch_sub(bytes_of(*block), std::memory_order_relaxed);
  return true;
}

void tell_block_of(const void* storage) noexcept {
  const std::uint64_t address = layout::data_of(storage);
  if (agent::full_detail() || address == 0) return;
  std::optional<std::uint64_t> block = take(wire::kCpuDevice, address);
  if (!block) block = take(wire::cuda_device(0), address);  // or any other: they have the same buckets
  if (!block) return;
  const std::uint32_t device = device_of(*block);
  g_sums[device].now.fetch_sub(bytes_of(*block), std::memory_order_relaxed);
  write_block_alloc(device, reinterpret_cast<const void*>(address), static_cast<std::uint64_t>(bytes_of(*block)),
                    pinned_owner(storage));
}

void write_small_sum_before_alloc(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kDevices) return;
  Sum& sum = g_sums[device];
  const std::int64_t told = sum.told.load(std::memory_order_relaxed);
  if (sum.now.load(std::memory_order_relaxed) != told || sum.high.load(std::memory_order_relaxed) > told) {
    tell(device, sum);
  }
}

void write_small_sum_before_free(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kDevices) return;
  // What has become less meanwhile can wait: no peak lies there.
  Sum& sum = g_sums[device];
  if (sum.high.load(std::memory_order_relaxed) > sum.told.load(std::memory_order_relaxed)) tell(device, sum);
}

void write_small_sums() noexcept {
  const std::uint32_t devices = g_devices.load(std::memory_order_relaxed);
  for (std::uint32_t device = 0; device < devices; ++device) {
    write_small_sum_before_alloc(device);
    g_sums[device].added_to.store(false, std::memory_order_relaxed);
  }
}

}  // namespace dcmt::torch_provider
