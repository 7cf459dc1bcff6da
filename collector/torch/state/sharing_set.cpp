#include "collector/torch/state/sharing_set.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "trace/arch/arch.h"

namespace dcmt::torch_provider {
namespace {

constexpr unsigned kBucketBits = 13;
constexpr std::uint32_t kBuckets = 1u << kBucketBits;

/// A tensor's address, a mark of its storage, and whether its birth was recorded. Addresses have at most
/// arch::kAddressBits bits and are multiples of 16.
using Entry = std::uint64_t;
constexpr Entry kBirthRecorded = 1;
constexpr unsigned kAlignBits = 4;
constexpr unsigned kBelowTensor = 64 - (arch::kAddressBits - kAlignBits);
constexpr unsigned kMarkBits = kBelowTensor - 1;

/// Distinguishes most storages of a bucket; collisions are possible.
std::uint64_t mark_of(const void* storage) noexcept {
  return (reinterpret_cast<std::uint64_t>(storage) >> kAlignBits) * 0x9E3779B97F4A7C15u >> (64 - kMarkBits);
}
Entry entry_of(const void* tensor, std::uint64_t mark) noexcept {
  return reinterpret_cast<Entry>(tensor) >> kAlignBits << kBelowTensor | mark << 1;
}
const void* tensor_of(Entry entry) noexcept {
  return reinterpret_cast<const void*>(entry >> kBelowTensor << kAlignBits);
}
bool has_mark(Entry entry, std::uint64_t mark) noexcept {
  return (entry << (63 - kMarkBits) >> (64 - kMarkBits)) == mark;
}
bool is_of(Entry entry, const void* tensor) noexcept {
  return ((entry ^ entry_of(tensor, 0)) >> kBelowTensor) == 0;  // no tensor has address 0, which an empty entry has
}

/// The first line of a bucket.
struct alignas(64) First {
  std::atomic<Entry> tensors[7];
  std::atomic<std::uint64_t> beyond;  ///< entries in the second part
};
static_assert(sizeof(First) == 64);

/// The second part of a bucket, in another table: four lines, so that two storages can have the maximum of tensors.
/// Further entries are lost.
struct alignas(64) Second {
  std::atomic<Entry> tensors[31];
  std::atomic<std::uint64_t> lost;  ///< a bit, by its mark, for each storage that has lost an entry
};
static_assert(sizeof(Second) == 256);

constinit First* g_first = nullptr;
constinit Second* g_second = nullptr;

/// The first line of a storage's bucket. Neighbouring storages, which a program makes and uses together, have
/// neighbouring lines; storages at equal distances of two megabytes or more are spread.
First& bucket_of(const void* storage) noexcept {
  constexpr unsigned kBitsOfOne = 8;  // bits of an address in the memory of two storages, if only they were there
  const auto at = reinterpret_cast<std::uint64_t>(storage) >> kBitsOfOne;
  const auto spread = (at >> kBucketBits) * 0x9E3779B97F4A7C15u >> (64 - kBucketBits);  // Fibonacci hashing
  return g_first[(at + spread) % kBuckets];
}

Second& second(const First& first) noexcept { return g_second[&first - g_first]; }

std::uint64_t bit_of(std::uint64_t mark) noexcept { return std::uint64_t{1} << mark % 64; }

/// Calls `visit` for each entry until it returns true; returns whether it did.
template <class Visit>
bool any_entry(First& bucket, const Visit& visit) noexcept {
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

/// A buffer that hundreds of tensors share leaves some places for the other storages of its bucket.
[[gnu::noinline]] void put_in_second(First& bucket, Entry added, std::uint64_t mark) noexcept {
  std::uint32_t of_storage = 0;
  bucket.beyond.fetch_add(1, std::memory_order_relaxed);
  any_entry(bucket, [&](const std::atomic<Entry>& entry) {
    const Entry other = entry.load(std::memory_order_relaxed);
    of_storage += other != 0 && has_mark(other, mark) ? 1 : 0;
    return false;
  });
  if (of_storage < SharingSet::kCapacity) {
    for (auto& entry : second(bucket).tensors) {
      if (put(entry, added)) return;
    }
  }
  bucket.beyond.fetch_sub(1, std::memory_order_relaxed);
  second(bucket).lost.fetch_or(bit_of(mark), std::memory_order_relaxed);
}

/// Empties the entry if it belongs to the tensor, and returns its earlier value, else 0. It uses no atomic exchange: a
/// locked instruction costs as much as all the rest, and no other thread removes an ending tensor. It can miss a
/// sharing_note_recorded() of another thread at the same time (sharing_set.h).
Entry clear_entry(std::atomic<Entry>& entry, const void* tensor) noexcept {
  const Entry before = entry.load(std::memory_order_relaxed);
  if (!is_of(before, tensor)) return 0;
  entry.store(0, std::memory_order_release);
  return before;
}

[[gnu::noinline]] Entry clear_in_second(First& bucket, const void* tensor) noexcept {
  Entry cleared = 0;
  for (auto& entry : second(bucket).tensors) {
    const Entry before = clear_entry(entry, tensor);
    if (before != 0) bucket.beyond.fetch_sub(1, std::memory_order_relaxed);
    cleared |= before;
  }
  return cleared;
}

/// A new tensor can have the address of a stale entry: the same tensor is then in the set twice.
bool contains(const SharingSet& set, const void* tensor) noexcept {
  for (std::uint32_t i = 0; i < set.count; ++i) {
    if (set.tensors[i] == tensor) return true;
  }
  return false;
}

}  // namespace

bool make_sharing_table() noexcept {
  if (g_first != nullptr) return true;
  g_first = static_cast<First*>(agent::arena(kBuckets * sizeof(First)));
  g_second = static_cast<Second*>(agent::arena(kBuckets * sizeof(Second)));
  return g_first != nullptr && g_second != nullptr;
}

void sharing_expect(const void* storage) noexcept { arch::fetch_to_write(bucket_of(storage)); }

void sharing_add(const void* tensor, const void* storage, bool recorded) noexcept {
  First& bucket = bucket_of(storage);
  const std::uint64_t mark = mark_of(storage);
  const Entry added = entry_of(tensor, mark) | (recorded ? kBirthRecorded : 0);
  for (auto& entry : bucket.tensors) {
    if (put(entry, added)) return;
  }
  put_in_second(bucket, added, mark);
}

BirthRecorded sharing_remove(const void* tensor, const void* storage) noexcept {
  First& bucket = bucket_of(storage);
  Entry cleared = 0;
  // Remove all entries: the tensor is there twice if an earlier end at its address was missed.
#pragma GCC unroll 7
  for (auto& entry : bucket.tensors) cleared |= clear_entry(entry, tensor);
  if (bucket.beyond.load(std::memory_order_relaxed) != 0) cleared |= clear_in_second(bucket, tensor);
  if (cleared == 0) return BirthRecorded::kNotKnown;
  return (cleared & kBirthRecorded) != 0 ? BirthRecorded::kYes : BirthRecorded::kNo;
}

BirthRecorded sharing_note_recorded(const void* tensor, const void* storage) noexcept {
  BirthRecorded recorded = BirthRecorded::kNotKnown;
  any_entry(bucket_of(storage), [&](std::atomic<Entry>& entry) {
    Entry before = entry.load(std::memory_order_relaxed);
    if (!is_of(before, tensor)) return false;
    if ((before & kBirthRecorded) != 0) {
      recorded = BirthRecorded::kYes;
    } else if (entry.compare_exchange_strong(before, before | kBirthRecorded, std::memory_order_release)) {
      recorded = BirthRecorded::kNo;
    } else if (is_of(before, tensor)) {
      recorded = BirthRecorded::kYes;  // another thread was first, or the tensor ended
    }
    return true;
  });
  return recorded;
}

bool sharing_contains(const void* tensor, const void* storage) noexcept {
  return any_entry(bucket_of(storage), [tensor](const std::atomic<Entry>& entry) {
    return is_of(entry.load(std::memory_order_acquire), tensor);
  });
}

bool read_memory(const void* address, void* out, std::size_t bytes) noexcept {
  const iovec here{out, bytes}, there{const_cast<void*>(address), bytes};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

void sharing_of(const void* storage, SharingSet& out, bool unrecorded_only) noexcept {
  First& bucket = bucket_of(storage);
  const std::uint64_t mark = mark_of(storage);
  out.count = 0;
  out.maybe_incomplete = (second(bucket).lost.load(std::memory_order_relaxed) & bit_of(mark)) != 0;
  any_entry(bucket, [&](const std::atomic<Entry>& entry) {
    const Entry found = entry.load(std::memory_order_acquire);
    const void* tensor = tensor_of(found);
    if (found == 0 || !has_mark(found, mark) || (unrecorded_only && (found & kBirthRecorded) != 0) ||
        contains(out, tensor)) {
      return false;
    }
    std::uint64_t on = 0;
    const auto* field = static_cast<const char*>(tensor) + layout::kTensorStorage;
    if (!read_memory(field, &on, sizeof on) || on != reinterpret_cast<std::uint64_t>(storage)) return false;
    if (out.count == SharingSet::kCapacity) {
      out.maybe_incomplete = true;
      return true;
    }
    out.tensors[out.count++] = tensor;
    return false;
  });
}

}  // namespace dcmt::torch_provider
