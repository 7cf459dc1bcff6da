#include "collector/torch/small_blocks.h"

#include <atomic>
#include <optional>

#include "collector/agent/provider.h"
#include "collector/torch/allocator_hooks.h"
#include "collector/torch/known_blocks.h"
#include "collector/torch/layout.h"
#include "collector/torch/pinned_blocks.h"
#include "collector/torch/torch_thread.h"

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
constinit Sum g_sums[kKnownDevices] = {};
constinit std::atomic<std::uint32_t> g_devices{0};  ///< all that have a sum are below

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

/// Takes the block out of its sum.
std::optional<KnownBlock> take(std::uint32_t device, std::uint64_t address) noexcept {
  const TorchThread* thread = torch_thread();
  const std::optional<KnownBlock> block =
      forget_block(thread != nullptr ? thread->recent_blocks : nullptr, device, address);
  if (block) g_sums[block->device].now.fetch_sub(block->bytes, std::memory_order_relaxed);
  return block;
}

}  // namespace

bool add_small_block(std::uint32_t device, const void* address, std::uint64_t bytes) noexcept {
  TorchThread* thread = agent::full_detail() ? nullptr : torch_thread();
  if (thread == nullptr || device >= kKnownDevices) return false;
  if (!know_block(thread->recent_blocks, device, reinterpret_cast<std::uint64_t>(address), bytes)) return false;
  grow(device, static_cast<std::int64_t>(bytes));
  return true;
}

bool remove_small_block(std::uint32_t device, const void* address) noexcept {
  return !agent::full_detail() && take(device, reinterpret_cast<std::uint64_t>(address)).has_value();
}

void tell_block_of(const void* storage) noexcept {
  const std::uint64_t address = layout::data_of(storage);
  if (agent::full_detail() || address == 0) return;
  std::optional<KnownBlock> block = take(wire::kCpuDevice, address);
  if (!block) block = take(wire::cuda_device(0), address);
  if (!block) return;
  write_block_alloc(block->device, reinterpret_cast<const void*>(address), static_cast<std::uint64_t>(block->bytes),
                    pinned_owner(storage));
}

void write_small_sum_before_alloc(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kKnownDevices) return;
  Sum& sum = g_sums[device];
  const std::int64_t told = sum.told.load(std::memory_order_relaxed);
  if (sum.now.load(std::memory_order_relaxed) != told || sum.high.load(std::memory_order_relaxed) > told) {
    tell(device, sum);
  }
}

void write_small_sum_before_free(std::uint32_t device) noexcept {
  if (agent::full_detail() || device >= kKnownDevices) return;
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
