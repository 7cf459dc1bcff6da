#include "collector/torch/sharing_set.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/layout.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint32_t kBuckets = 8192;
constexpr std::uint32_t kEntries = SharingSet::kCapacity;

struct alignas(64) Bucket {
  std::atomic<const void*> tensors[kEntries];
  std::atomic<std::uint64_t> dropped;  ///< births that found the bucket full
};
static_assert(sizeof(Bucket) == 128);

constinit Bucket* g_buckets = nullptr;

Bucket& bucket_of(const void* storage) noexcept {
  // Allocators hand out multiples of 16; the multiplication spreads the rest (Fibonacci hashing).
  const auto hash = (reinterpret_cast<std::uint64_t>(storage) >> 4) * 0x9E3779B97F4A7C15u;
  return g_buckets[hash >> (64 - 13)];
}

/// A stale entry's address can have been born again: the same tensor then stands twice.
bool contains(const SharingSet& set, const void* tensor) noexcept {
  for (std::uint32_t i = 0; i < set.count; ++i) {
    if (set.tensors[i] == tensor) return true;
  }
  return false;
}

}  // namespace

bool make_sharing_table() noexcept {
  static_assert(kBuckets == 1u << 13);
  g_buckets = static_cast<Bucket*>(agent::arena(kBuckets * sizeof(Bucket)));
  return g_buckets != nullptr;
}

void sharing_expect(const void* storage) noexcept {
  asm volatile("prefetchw %0" : : "m"(bucket_of(storage).tensors[0]));
}

void sharing_add(const void* tensor, const void* storage) noexcept {
  Bucket& bucket = bucket_of(storage);
  for (auto& entry : bucket.tensors) {
    const void* empty = nullptr;
    if (entry.load(std::memory_order_relaxed) == nullptr &&
        entry.compare_exchange_strong(empty, tensor, std::memory_order_release)) {
      return;
    }
  }
  bucket.dropped.fetch_add(1, std::memory_order_relaxed);
}

void sharing_remove(const void* tensor, const void* storage) noexcept {
  for (auto& entry : bucket_of(storage).tensors) {
    // One that stands twice (its first end was not seen) stays once, stale: who asks verifies.
    if (entry.load(std::memory_order_relaxed) != tensor) continue;
    // Nobody else changes the entry meanwhile: births take empty ones, and a tensor ends on one thread.
    entry.store(nullptr, std::memory_order_release);
    return;
  }
}

bool sharing_contains(const void* tensor, const void* storage) noexcept {
  for (const auto& entry : bucket_of(storage).tensors) {
    if (entry.load(std::memory_order_acquire) == tensor) return true;
  }
  return false;
}

bool read_memory(const void* address, void* out, std::size_t bytes) noexcept {
  iovec local{out, bytes};
  iovec remote{const_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

void sharing_of(const void* storage, SharingSet& out) noexcept {
  Bucket& bucket = bucket_of(storage);
  out.count = 0;
  out.maybe_incomplete = bucket.dropped.load(std::memory_order_relaxed) != 0;
  for (auto& entry : bucket.tensors) {
    const void* tensor = entry.load(std::memory_order_acquire);
    if (tensor == nullptr || contains(out, tensor)) continue;
    std::uint64_t on = 0;
    const auto* field = static_cast<const char*>(tensor) + layout::kTensorStorage;
    if (read_memory(field, &on, sizeof on) && on == reinterpret_cast<std::uint64_t>(storage))
      out.tensors[out.count++] = tensor;
  }
}

}  // namespace dcmt::torch_provider
