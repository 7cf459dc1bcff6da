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

/// A tensor's address, and whether the trace was told of it: all are even.
using Entry = std::uint64_t;
constexpr Entry kTold = 1;

Entry entry_of(const void* tensor) noexcept { return reinterpret_cast<Entry>(tensor); }
const void* tensor_of(Entry entry) noexcept { return reinterpret_cast<const void*>(entry & ~kTold); }

struct alignas(64) Bucket {
  std::atomic<Entry> tensors[kEntries];
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

void sharing_add(const void* tensor, const void* storage, bool told) noexcept {
  Bucket& bucket = bucket_of(storage);
  for (auto& entry : bucket.tensors) {
    Entry empty = 0;
    if (entry.load(std::memory_order_relaxed) == 0 &&
        entry.compare_exchange_strong(empty, entry_of(tensor) | (told ? kTold : 0), std::memory_order_release)) {
      return;
    }
  }
  bucket.dropped.fetch_add(1, std::memory_order_relaxed);
}

Told sharing_remove(const void* tensor, const void* storage) noexcept {
  Told told = Told::kNotKnown;
  for (auto& entry : bucket_of(storage).tensors) {
    // It can stand twice, if an earlier end at its address was not seen.
    if (tensor_of(entry.load(std::memory_order_relaxed)) != tensor) continue;
    const bool was_told = (entry.exchange(0, std::memory_order_release) & kTold) != 0;
    if (told != Told::kYes) told = was_told ? Told::kYes : Told::kNo;
  }
  return told;
}

Told sharing_tell(const void* tensor, const void* storage) noexcept {
  for (auto& entry : bucket_of(storage).tensors) {
    Entry before = entry.load(std::memory_order_relaxed);
    if (tensor_of(before) != tensor) continue;
    if ((before & kTold) != 0) return Told::kYes;
    if (entry.compare_exchange_strong(before, before | kTold, std::memory_order_release)) return Told::kNo;
    return before == (entry_of(tensor) | kTold) ? Told::kYes
                                                : Told::kNotKnown;  // another thread was first, or it ended
  }
  return Told::kNotKnown;
}

bool sharing_contains(const void* tensor, const void* storage) noexcept {
  for (const auto& entry : bucket_of(storage).tensors) {
    if (tensor_of(entry.load(std::memory_order_acquire)) == tensor) return true;
  }
  return false;
}

bool read_memory(const void* address, void* out, std::size_t bytes) noexcept {
  iovec local{out, bytes};
  iovec remote{const_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

void sharing_of(const void* storage, SharingSet& out, bool untold_only) noexcept {
  Bucket& bucket = bucket_of(storage);
  out.count = 0;
  out.maybe_incomplete = bucket.dropped.load(std::memory_order_relaxed) != 0;
  for (auto& entry : bucket.tensors) {
    const Entry found = entry.load(std::memory_order_acquire);
    const void* tensor = tensor_of(found);
    if (tensor == nullptr || (untold_only && (found & kTold) != 0) || contains(out, tensor)) continue;
    std::uint64_t on = 0;
    const auto* field = static_cast<const char*>(tensor) + layout::kTensorStorage;
    if (read_memory(field, &on, sizeof on) && on == reinterpret_cast<std::uint64_t>(storage))
      out.tensors[out.count++] = tensor;
  }
}

}  // namespace dcmt::torch_provider
