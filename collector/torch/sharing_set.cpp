#include "collector/torch/sharing_set.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/layout.h"

namespace dcmt::torch_provider {
namespace {

constexpr unsigned kBucketBits = 13;
constexpr std::uint32_t kBuckets = 1u << kBucketBits;
constexpr std::uint32_t kEntries = SharingSet::kCapacity / 2;  ///< of a line

/// A tensor's address, and whether the trace was told of it: all are even.
using Entry = std::uint64_t;
constexpr Entry kTold = 1;

Entry entry_of(const void* tensor) noexcept { return reinterpret_cast<Entry>(tensor); }
const void* tensor_of(Entry entry) noexcept { return reinterpret_cast<const void*>(entry & ~kTold); }
bool is_of(Entry entry, const void* tensor) noexcept { return entry - entry_of(tensor) <= kTold; }

struct alignas(64) Line {
  std::atomic<Entry> tensors[kEntries];
  std::atomic<std::uint64_t> beyond;  ///< of a first line: entries in the second; of that: births that found it full
};
static_assert(sizeof(Line) == 64);

constinit Line* g_lines = nullptr;  ///< the first ones of all buckets, then the second ones

/// The first line of a storage's bucket. Storages that lie side by side, as a program makes and uses them, have lines
/// side by side; those that lie at equal distances of a megabyte or more are spread.
Line& bucket_of(const void* storage) noexcept {
  constexpr unsigned kBitsOfOne = 7;  // of an address within about what a storage takes
  const auto at = reinterpret_cast<std::uint64_t>(storage) >> kBitsOfOne;
  const auto spread = (at >> kBucketBits) * 0x9E3779B97F4A7C15u >> (64 - kBucketBits);  // Fibonacci hashing
  return g_lines[(at + spread) % kBuckets];
}

Line& second(Line& first) noexcept { return (&first)[kBuckets]; }

/// Calls `visit` for each entry until it returns true; whether it did.
template <class Visit>
bool any_entry(Line& bucket, const Visit& visit) noexcept {
#pragma GCC unroll 7
  for (auto& entry : bucket.tensors) {
    if (visit(entry)) return true;
  }
  if (bucket.beyond.load(std::memory_order_relaxed) == 0) return false;
  for (auto& entry : second(bucket).tensors) {
    if (visit(entry)) return true;
  }
  return false;
}

bool put(std::atomic<Entry>& entry, Entry tensor) noexcept {
  Entry empty = 0;
  return entry.load(std::memory_order_relaxed) == 0 &&
         entry.compare_exchange_strong(empty, tensor, std::memory_order_release);
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
  g_lines = static_cast<Line*>(agent::arena(2 * kBuckets * sizeof(Line)));
  return g_lines != nullptr;
}

void sharing_expect(const void* storage) noexcept { asm volatile("prefetchw %0" : : "m"(bucket_of(storage))); }

void sharing_add(const void* tensor, const void* storage, bool told) noexcept {
  Line& bucket = bucket_of(storage);
  const Entry added = entry_of(tensor) | (told ? kTold : 0);
  for (auto& entry : bucket.tensors) {
    if (put(entry, added)) return;
  }
  bucket.beyond.fetch_add(1, std::memory_order_relaxed);
  for (auto& entry : second(bucket).tensors) {
    if (put(entry, added)) return;
  }
  bucket.beyond.fetch_sub(1, std::memory_order_relaxed);
  second(bucket).beyond.fetch_add(1, std::memory_order_relaxed);
}

Told sharing_remove(const void* tensor, const void* storage) noexcept {
  Line& bucket = bucket_of(storage);
  Told told = Told::kNotKnown;
  any_entry(bucket, [&](std::atomic<Entry>& entry) {
    // No exchange: a locked instruction costs as much as all the rest, and nobody else takes out what ends here. Who
    // tells of the tensor meanwhile is not seen (sharing_set.h).
    const Entry before = entry.load(std::memory_order_relaxed);
    if (!is_of(before, tensor)) return false;
    entry.store(0, std::memory_order_release);
    if (&entry >= second(bucket).tensors) bucket.beyond.fetch_sub(1, std::memory_order_relaxed);
    if (told != Told::kYes) told = (before & kTold) != 0 ? Told::kYes : Told::kNo;
    return false;  // it can stand twice, if an earlier end at its address was not seen
  });
  return told;
}

Told sharing_tell(const void* tensor, const void* storage) noexcept {
  Told told = Told::kNotKnown;
  any_entry(bucket_of(storage), [&](std::atomic<Entry>& entry) {
    Entry before = entry.load(std::memory_order_relaxed);
    if (!is_of(before, tensor)) return false;
    if ((before & kTold) != 0) {
      told = Told::kYes;
    } else if (entry.compare_exchange_strong(before, before | kTold, std::memory_order_release)) {
      told = Told::kNo;
    } else if (before == (entry_of(tensor) | kTold)) {
      told = Told::kYes;  // another thread was first; else it ended
    }
    return true;
  });
  return told;
}

bool sharing_contains(const void* tensor, const void* storage) noexcept {
  return any_entry(bucket_of(storage), [tensor](const std::atomic<Entry>& entry) {
    return is_of(entry.load(std::memory_order_acquire), tensor);
  });
}

bool read_memory(const void* address, void* out, std::size_t bytes) noexcept {
  iovec local{out, bytes};
  iovec remote{const_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

void sharing_of(const void* storage, SharingSet& out, bool untold_only) noexcept {
  Line& bucket = bucket_of(storage);
  out.count = 0;
  out.maybe_incomplete = second(bucket).beyond.load(std::memory_order_relaxed) != 0;
  any_entry(bucket, [&](const std::atomic<Entry>& entry) {
    const Entry found = entry.load(std::memory_order_acquire);
    const void* tensor = tensor_of(found);
    if (tensor == nullptr || (untold_only && (found & kTold) != 0) || contains(out, tensor)) return false;
    std::uint64_t on = 0;
    const auto* field = static_cast<const char*>(tensor) + layout::kTensorStorage;
    if (read_memory(field, &on, sizeof on) && on == reinterpret_cast<std::uint64_t>(storage))
      out.tensors[out.count++] = tensor;
    return false;
  });
}

}  // namespace dcmt::torch_provider
