#include "collector/torch/records/small_blocks.h"

#include <atomic>
#include <optional>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/state/known_blocks.h"
#include "collector/torch/state/small_cuda_blocks.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/spool/small_sizes.h"

namespace dcmt::torch_provider {
namespace {

/// The bytes of a device's small blocks. `high` is the highest value since the last record. Threads that add raise it;
/// the thread that writes a record lowers it, one thread at a time. An addition at the same time as a record may be
/// included only in the next one.
struct alignas(64) Sum {
  std::atomic<std::int64_t> allocated;  ///< less what was freed
  std::atomic<std::int64_t> moved_out;  ///< bytes of these blocks that got records of their own; their ends will, too
  std::atomic<std::int64_t> high;
  std::atomic<std::int64_t> recorded;
  std::atomic<bool> added_to;  ///< since the last exact point; if not, a forward pass may begin with the next one
  std::atomic<bool> busy;

  [[nodiscard]] std::int64_t now() const noexcept {
    // In this order: bytes are removed only after they were allocated, so another thread cannot make the result too low
    // or negative.
    const std::int64_t out = moved_out.load(std::memory_order_acquire);
    return allocated.load(std::memory_order_relaxed) - out;
  }
};
constexpr std::uint32_t kDevices = 128;  // blocks of further devices have records of their own
constinit Sum g_sums[kDevices] = {};
constinit std::atomic<std::uint32_t> g_devices{0};  ///< all devices with a sum are below this number

/// A program that makes only small blocks may have no exact point. By so much more than recorded, in bytes and as a
/// part of that, the sum is recorded, too.
constexpr std::int64_t kMore = 256 * 1024, kMorePart = 4;

void raise(std::atomic<std::int64_t>& high, std::int64_t bytes) noexcept {
  std::int64_t before = high.load(std::memory_order_relaxed);
  while (before < bytes && !high.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

/// Returns the new sum.
std::int64_t add(std::uint32_t device, Sum& sum, std::int64_t bytes) noexcept {
  if (device == wire::kCpuDevice) return sum.allocated.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  // The allocator's lock excludes the device's other threads.
  const std::int64_t allocated = sum.allocated.load(std::memory_order_relaxed) + bytes;
  sum.allocated.store(allocated, std::memory_order_relaxed);
  return allocated;
}

void write(std::uint32_t device, Sum& sum, std::int64_t bytes) noexcept {
  auto* record = static_cast<wire::SmallBlocksRecord*>(
      agent::begin_record(wire::RecordType::kSmallBlocks, sizeof(wire::SmallBlocksRecord), device));
  if (record == nullptr) return;
  record->bytes = static_cast<std::uint64_t>(bytes);
  agent::commit_record(record);
  sum.recorded.store(bytes, std::memory_order_relaxed);
}

void record_sum(std::uint32_t device, Sum& sum) noexcept {
  if (sum.busy.exchange(true, std::memory_order_acquire)) return;
  const std::int64_t high = sum.high.load(std::memory_order_relaxed);
  const std::int64_t now = sum.now();
  if (high > now && high > sum.recorded.load(std::memory_order_relaxed)) write(device, sum, high);
  if (now != sum.recorded.load(std::memory_order_relaxed)) write(device, sum, now);
  sum.high.store(now, std::memory_order_relaxed);
  sum.busy.store(false, std::memory_order_release);
}

void grow(std::uint32_t device, std::int64_t bytes) noexcept {
  Sum& sum = g_sums[device];
  const std::int64_t allocated = add(device, sum, bytes);
  raise(sum.high, allocated - sum.moved_out.load(std::memory_order_relaxed));
  if (device >= g_devices.load(std::memory_order_relaxed)) {
    std::uint32_t devices = g_devices.load(std::memory_order_relaxed);
    while (devices <= device && !g_devices.compare_exchange_weak(devices, device + 1, std::memory_order_relaxed)) {
    }
  }
  const std::int64_t recorded = sum.recorded.load(std::memory_order_relaxed);
  if (sum.added_to.load(std::memory_order_relaxed) && allocated < recorded + recorded / kMorePart + kMore) return;
  sum.added_to.store(true, std::memory_order_relaxed);
  agent::apply_followed_sizes();
  record_sum(device, sum);
}

/// Returns by how much the sum grows; nothing if the block cannot be tracked.
std::optional<std::int64_t> track(std::uint32_t device, std::uint64_t address, std::uint64_t bytes) noexcept {
  const auto grows = static_cast<std::int64_t>(bytes);
  if (device != wire::kCpuDevice) {
    const std::optional<std::uint64_t> before = track_small_cuda_block(address, bytes);
    if (!before) return std::nullopt;
    return grows - static_cast<std::int64_t>(*before);
  }
  TorchThread* thread = torch_thread();
  if (thread == nullptr || !track_block(thread->recent_blocks, address, bytes)) return std::nullopt;
  return grows;
}

std::int64_t forget(std::uint32_t device, std::uint64_t address) noexcept {
  if (device != wire::kCpuDevice) return static_cast<std::int64_t>(forget_small_cuda_block(address));
  const TorchThread* thread = torch_thread();
  return static_cast<std::int64_t>(forget_block(thread != nullptr ? thread->recent_blocks : nullptr, address));
}

}  // namespace

void forget_small_blocks() noexcept {
  forget_blocks();
  for (Sum& sum : g_sums) {
    sum.allocated.store(0, std::memory_order_relaxed);
    sum.moved_out.store(0, std::memory_order_relaxed);
    sum.high.store(0, std::memory_order_relaxed);
    sum.recorded.store(0, std::memory_order_relaxed);
    sum.added_to.store(false, std::memory_order_relaxed);
    sum.busy.store(false, std::memory_order_relaxed);
  }
  g_devices.store(0, std::memory_order_relaxed);
}

bool is_small_but_followed(const void* storage) noexcept {
  std::uint64_t bytes = layout::bytes_of(storage);
  if (layout::is_on_gpu(storage))
    bytes = (bytes + spool::kGpuUnitBytes - 1) / spool::kGpuUnitBytes * spool::kGpuUnitBytes;
  return agent::follows_small_size(bytes);
}

bool add_small_block(std::uint32_t device, const void* address, std::uint64_t bytes) noexcept {
  if (agent::full_detail() || agent::follows_size(bytes) || agent::every_block() || device >= kDevices) return false;
  const std::optional<std::int64_t> grows = track(device, reinterpret_cast<std::uint64_t>(address), bytes);
  if (grows) grow(device, *grows);
  return grows.has_value();
}

bool remove_small_block(std::uint32_t device, const void* address) noexcept {
  if (agent::full_detail() || device >= kDevices) return false;
  const std::int64_t bytes = forget(device, reinterpret_cast<std::uint64_t>(address));
  if (bytes == 0) return false;
  add(device, g_sums[device], -bytes);
  return true;
}

std::uint64_t take_small_block(std::uint32_t device, const void* address) noexcept {
  if (agent::full_detail() || device >= kDevices) return 0;
  const std::int64_t bytes = forget(device, reinterpret_cast<std::uint64_t>(address));
  // The allocator's lock is not held here, so this is a counter of its own.
  if (bytes != 0) g_sums[device].moved_out.fetch_add(bytes, std::memory_order_release);
  return static_cast<std::uint64_t>(bytes);
}

void write_small_sum_before_alloc(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kDevices) return;
  Sum& sum = g_sums[device];
  const std::int64_t recorded = sum.recorded.load(std::memory_order_relaxed);
  if (sum.now() != recorded || sum.high.load(std::memory_order_relaxed) > recorded) {
    record_sum(device, sum);
  }
}

void write_small_sum_before_free(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kDevices) return;
  // A decrease can wait: it makes no peak.
  Sum& sum = g_sums[device];
  if (sum.high.load(std::memory_order_relaxed) > sum.recorded.load(std::memory_order_relaxed)) record_sum(device, sum);
}

void write_small_sums() noexcept {
  agent::apply_followed_sizes();
  const std::uint32_t devices = g_devices.load(std::memory_order_relaxed);
  for (std::uint32_t device = 0; device < devices; ++device) {
    write_small_sum_before_alloc(device);
    g_sums[device].added_to.store(false, std::memory_order_relaxed);
  }
}

}  // namespace dcmt::torch_provider
