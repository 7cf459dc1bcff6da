#include "collector/torch/release_keys.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/clock.h"
#include "collector/agent/provider.h"
#include "collector/torch/census.h"
#include "collector/torch/gpu_memory.h"
#include "collector/torch/layout.h"
#include "collector/torch/lifetime_hooks.h"
#include "collector/torch/operator_events.h"
#include "collector/torch/small_blocks.h"
#include "collector/torch/torch_thread.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {

constinit std::atomic<std::int32_t> g_watched_count{0};

namespace {

constexpr std::uint32_t kSlots = 16384;
constexpr std::uint32_t kProbes = 64;
constexpr std::uint32_t kNoSlot = ~0u;
constexpr std::uint32_t kReadsPerRelease = 64;
constexpr std::uint32_t kMovedPerKey = 4;

enum SlotUse : std::uint32_t { kEmpty = 0, kClaimed = 1, kReady = 2 };

/// One key. Written by the threads that gather and release it; `busy` keeps two of them apart, never for long.
struct KeySlot {
  std::atomic<std::uint32_t> use;
  std::atomic<std::uint32_t> busy;
  KeyName name;
  std::atomic<const void*> storage;  ///< nullptr: none, or it has ended
  std::uint64_t cycle;
  std::int32_t declared;
  std::int32_t remaining;
  bool persistent;
  std::atomic<bool> gathered;  ///< a cycle is open: gathered and not finally released
  std::atomic<bool> released;  ///< the storage outlived its final release
  std::atomic<std::uint32_t> reads;
  std::atomic<std::uint32_t> kernel_reads;
  std::atomic<std::uint64_t> touches;     ///< in `full`: launches that got the storage since it was gathered
  std::atomic<std::uint64_t> touch_name;  ///< string id of the last one's kernel
  std::atomic<std::uint64_t> touch_tsc;
  std::atomic<const void*> moved[kMovedPerKey];  ///< tensors that the release re-pointed
};

/// Storages that are followed at any size, in buckets: those of keys, and (with kNoSlot) those that shrank. A storage
/// stands once for every key it serves: flat buffers serve many.
struct WatchEntry {
  std::atomic<const void*> storage;
  std::uint32_t slot;
};
struct alignas(64) WatchBucket {
  WatchEntry entries[32];
};
static_assert(sizeof(WatchBucket) == 512);
const void* const kClaimedEntry = reinterpret_cast<const void*>(~std::uintptr_t{0});
constexpr unsigned kWatchBits = 13;
constexpr std::uint32_t kWatchBuckets = 1u << kWatchBits;

/// Tensors that releases re-pointed, direct-mapped by address: losing one costs a hint, never a wrong one.
struct MovedTensor {
  std::atomic<const void*> tensor;
  std::uint32_t slot;
};
constexpr std::uint32_t kMovedTensors = 1u << 12;

constinit KeySlot* g_slots = nullptr;
constinit WatchBucket* g_watched = nullptr;
/// Entries in use, by bucket: few of the storages that hooks ask for are watched, and a bucket is eight lines.
constinit std::atomic<std::uint8_t>* g_watched_in = nullptr;
constinit MovedTensor* g_moved = nullptr;
constinit std::atomic<bool> g_keys_exist{false};
constinit std::atomic<std::int32_t> g_released_alive{0};
constinit std::atomic<std::int32_t> g_moved_count{0};
constinit std::atomic<bool> g_said_full{false};

std::uint32_t spread(const void* pointer, std::uint32_t bits) noexcept {
  const auto hash = (reinterpret_cast<std::uint64_t>(pointer) >> 4) * 0x9E3779B97F4A7C15u;
  return static_cast<std::uint32_t>(hash >> (64 - bits));
}

std::uint32_t watch_bucket_of(const void* storage) noexcept { return spread(storage, kWatchBits); }

/// Whether a look into the storage's bucket can find it.
bool may_be_watched(const void* storage) noexcept {
  return g_watched_count.load(std::memory_order_relaxed) != 0 &&
         g_watched_in[watch_bucket_of(storage)].load(std::memory_order_relaxed) != 0;
}

/// An entry of the storage was taken out.
void count_unwatched(const void* storage) noexcept {
  g_watched_in[watch_bucket_of(storage)].fetch_sub(1, std::memory_order_relaxed);
  g_watched_count.fetch_sub(1, std::memory_order_relaxed);
}

std::uint32_t find_slot(KeyName name, bool create) noexcept {
  const std::uint64_t hash = agent::hash_bytes(&name, sizeof name, 0);
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    const auto index = static_cast<std::uint32_t>((hash + probe) % kSlots);
    KeySlot& slot = g_slots[index];
    std::uint32_t use = slot.use.load(std::memory_order_acquire);
    if (use == kEmpty) {
      if (!create) return kNoSlot;
      if (slot.use.compare_exchange_strong(use, kClaimed, std::memory_order_acquire)) {
        slot.name = name;
        slot.use.store(kReady, std::memory_order_release);
        return index;
      }
      use = slot.use.load(std::memory_order_acquire);
    }
    // Another thread is writing the name this very moment; it could be ours.
    for (int i = 0; use == kClaimed && i < 4096; ++i) use = slot.use.load(std::memory_order_acquire);
    if (use == kReady && slot.name.graph == name.graph && slot.name.key == name.key) return index;
  }
  if (create) agent::diagnose(wire::DiagnosticCode::kKeyTableFull, "the table of parameter keys is full");
  return kNoSlot;
}

/// Keeps a slot to one thread. Gives up after a bounded number of tries, and says so: the host must not wait for us.
class SlotGuard {
 public:
  explicit SlotGuard(KeySlot& slot) noexcept : slot_(slot) {
    for (int i = 0; i < 4096 && !owned; ++i) owned = slot_.busy.exchange(1, std::memory_order_acquire) == 0;
    if (owned) return;
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "a moment of a parameter's cycle was not followed: another thread was busy with its key");
  }
  ~SlotGuard() {
    if (owned) slot_.busy.store(0, std::memory_order_release);
  }
  SlotGuard(const SlotGuard&) = delete;
  SlotGuard& operator=(const SlotGuard&) = delete;
  bool owned = false;

 private:
  KeySlot& slot_;
};

/// False if there is no room: the storage is then not followed as this key's.
bool watch(const void* storage, std::uint32_t slot) noexcept {
  const std::uint32_t number = watch_bucket_of(storage);
  WatchBucket& bucket = g_watched[number];
  for (auto& entry : bucket.entries) {
    if (entry.storage.load(std::memory_order_acquire) == storage && entry.slot == slot) return true;
  }
  for (auto& entry : bucket.entries) {
    const void* empty = nullptr;
    // Claimed first, so that two threads never write one entry's slot.
    if (!entry.storage.compare_exchange_strong(empty, kClaimedEntry, std::memory_order_acquire)) continue;
    entry.slot = slot;
    // Counted first: who finds a count of none need not look.
    g_watched_in[number].fetch_add(1, std::memory_order_relaxed);
    g_watched_count.fetch_add(1, std::memory_order_relaxed);
    entry.storage.store(storage, std::memory_order_release);
    return true;
  }
  agent::diagnose(wire::DiagnosticCode::kKeyTableFull, "too many keys share one storage: not all are followed");
  return false;
}

void unwatch(const void* storage, std::uint32_t slot) noexcept {
  for (auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    const void* expected = storage;
    if (entry.slot == slot && entry.storage.compare_exchange_strong(expected, nullptr)) {
      count_unwatched(storage);
      return;
    }
  }
}

void forget_moved(KeySlot& slot) noexcept {
  for (auto& entry : slot.moved) {
    const void* tensor = entry.exchange(nullptr);
    if (tensor == nullptr) continue;
    const void* expected = tensor;
    if (g_moved[spread(tensor, 12)].tensor.compare_exchange_strong(expected, nullptr)) {
      g_moved_count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

/// Whose storage this is: of a key that has gathered into it, else of one that has released it.
struct Claim {
  KeySlot* released = nullptr;
  KeySlot* gathered = nullptr;
};

Claim claim_on(const void* storage) noexcept {
  Claim claim;
  for (const auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    if (entry.storage.load(std::memory_order_acquire) != storage || entry.slot == kNoSlot) continue;
    KeySlot& slot = g_slots[entry.slot];
    if (slot.gathered.load(std::memory_order_acquire)) return {nullptr, &slot};
    if (claim.released == nullptr && slot.released.load(std::memory_order_acquire)) claim.released = &slot;
  }
  return claim;
}

/// A key has given up its claim on a storage, whose memory on a GPU may be of no interest any more.
void unwatch_if_unclaimed(const void* storage) noexcept {
  const Claim claim = claim_on(storage);
  if (claim.released != nullptr || (claim.gathered != nullptr && agent::full_detail())) return;
  unwatch_gpu_memory(storage);
}

/// The memory of a key has gone. Whether that was before the program's work ended is told by what follows, even if
/// that is an operator in which nothing is recorded.
void tell_next_operator() noexcept {
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->tell_next_op = true;
}

void no_longer_released(KeySlot& slot, const void* storage) noexcept {
  if (!slot.released.exchange(false)) return;
  g_released_alive.fetch_sub(1, std::memory_order_relaxed);
  unwatch_if_unclaimed(storage);
}

void write_key(wire::RecordType type, const KeySlot& slot, const void* tensor, std::uint64_t op, std::int32_t declared,
               std::uint32_t flags) noexcept {
  const std::uint64_t stack = stack_here();
  write_small_sums();
  write_running_ops();
  const void* storage = slot.storage.load(std::memory_order_acquire);
  if (storage == nullptr) flags |= wire::kKeyStorageDead;
  if (slot.persistent) flags |= wire::kKeyPersistent;
  if (tensor != nullptr) flags |= (layout::dtype_of(tensor) + 1) << wire::kKeyDtypeShift;
  auto* record = static_cast<wire::KeyRecord*>(agent::begin_record(type, sizeof(wire::KeyRecord), flags));
  if (record == nullptr) return;
  const TorchThread* thread = torch_thread();
  record->graph = slot.name.graph;
  record->key = slot.name.key;
  record->op = op;
  // Another thread may have ended the storage since: then its death has a lower sequence than this record.
  if (slot.storage.load(std::memory_order_acquire) != storage) {
    storage = nullptr;
    record->header.aux |= wire::kKeyStorageDead;
  }
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->data = layout::data_of(storage);
  record->bytes = layout::bytes_of(storage);
  record->declared = declared;
  record->remaining = slot.remaining;
  record->cycle = slot.cycle;
  record->stack = stack;
  record->ordinal = thread != nullptr ? thread->ordinal : 0;
  agent::commit_record(record);
}

/// What touched the storage last before its final release, if that is known.
void write_last_touch(const KeySlot& slot) noexcept {
  const std::uint64_t touches = slot.touches.load(std::memory_order_relaxed);
  if (touches == 0) return;
  auto* record = static_cast<wire::LastTouchRecord*>(
      agent::begin_record(wire::RecordType::kLastTouch, sizeof(wire::LastTouchRecord), 0));
  if (record == nullptr) return;
  record->graph = slot.name.graph;
  record->key = slot.name.key;
  record->storage = reinterpret_cast<std::uint64_t>(slot.storage.load(std::memory_order_acquire));
  record->op = slot.touch_name.load(std::memory_order_relaxed);
  record->touches = touches;
  record->tsc = slot.touch_tsc.load(std::memory_order_relaxed);
  agent::commit_record(record);
}

void take_storage(KeySlot& slot, std::uint32_t index, const void* storage) noexcept {
  const void* before = slot.storage.load(std::memory_order_relaxed);
  if (before == storage) return;
  slot.storage.store(nullptr, std::memory_order_release);
  if (before != nullptr) {
    unwatch(before, index);
    unwatch_if_unclaimed(before);
    // It was followed for its key, whatever its size: its end must be seen, or the next storage there would be taken
    // for it.
    if (!agent::full_detail() && layout::bytes_of(before) < kFollowedBytes) watch_small(before);
  }
  if (storage == nullptr) return;
  // Stored first: a storage that ends from here on clears it again.
  slot.storage.store(storage, std::memory_order_release);
  if (!watch(storage, index)) {
    slot.storage.store(nullptr, std::memory_order_release);
  } else {
    follow_from_now(storage);
  }
}

/// Another key gathers into this storage: the ones released before have no claim to it any more.
void end_earlier_claims(const void* storage, std::uint32_t index) noexcept {
  if (storage == nullptr) return;
  for (auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    const bool other = entry.storage.load(std::memory_order_acquire) == storage && entry.slot != index;
    if (other && entry.slot != kNoSlot) no_longer_released(g_slots[entry.slot], storage);
  }
}

}  // namespace

bool make_key_table() noexcept {
  g_slots = static_cast<KeySlot*>(agent::arena(kSlots * sizeof(KeySlot)));
  g_watched = static_cast<WatchBucket*>(agent::arena(kWatchBuckets * sizeof(WatchBucket)));
  g_watched_in = static_cast<std::atomic<std::uint8_t>*>(agent::arena(kWatchBuckets));
  g_moved = static_cast<MovedTensor*>(agent::arena(kMovedTensors * sizeof(MovedTensor)));
  return g_slots != nullptr && g_watched != nullptr && g_watched_in != nullptr && g_moved != nullptr;
}

void key_gathered(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept {
  settle_releases();
  const std::uint32_t index = find_slot(name, true);
  if (index == kNoSlot) return;
  // From here on a thread's operators count: a release is settled at the next one.
  if (!keys_exist() && !g_keys_exist.exchange(true, std::memory_order_relaxed)) switch_operator_events();
  KeySlot& slot = g_slots[index];
  SlotGuard guard(slot);
  if (!guard.owned) return;
  no_longer_released(slot, slot.storage.load(std::memory_order_relaxed));
  forget_moved(slot);
  // A gather of what is still gathered hands out the same buffer: the cycle goes on.
  if (!slot.gathered.load(std::memory_order_relaxed)) {
    slot.gathered.store(true, std::memory_order_release);
    ++slot.cycle;
    slot.remaining = 0;
    slot.declared = 0;
    slot.reads.store(0, std::memory_order_relaxed);
    slot.kernel_reads.store(0, std::memory_order_relaxed);
    slot.touches.store(0, std::memory_order_relaxed);
  }
  take_storage(slot, index, what.storage);
  end_earlier_claims(slot.storage.load(std::memory_order_relaxed), index);
  watch_gpu_memory_in_use(slot.storage.load(std::memory_order_relaxed));
  write_key(wire::RecordType::kGather, slot, what.tensor, op, 0, flags);
}

void key_waited(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept {
  const std::uint32_t index = find_slot(name, true);
  if (index == kNoSlot) return;
  KeySlot& slot = g_slots[index];
  SlotGuard guard(slot);
  if (!guard.owned) return;
  if (slot.gathered.load(std::memory_order_relaxed)) {
    take_storage(slot, index, what.storage);
    watch_gpu_memory_in_use(slot.storage.load(std::memory_order_relaxed));
  }
  write_key(wire::RecordType::kWait, slot, what.tensor, op, 0, flags);
}

void key_persistent(KeyName name, std::uint64_t op, std::uint32_t flags) noexcept {
  const std::uint32_t index = find_slot(name, true);
  if (index == kNoSlot) return;
  KeySlot& slot = g_slots[index];
  SlotGuard guard(slot);
  if (!guard.owned) return;
  slot.persistent = true;
  write_key(wire::RecordType::kPersist, slot, nullptr, op, 0, flags);
}

void key_release_begins(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  const std::uint32_t index = find_slot(name, true);
  if (index == kNoSlot) return;
  KeySlot& slot = g_slots[index];
  SlotGuard guard(slot);
  if (!guard.owned) return;
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->releasing = index + 1;
  write_key(wire::RecordType::kReleaseBegin, slot, nullptr, op, declared, flags);
}

namespace {

void end_release(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  const std::uint32_t index = find_slot(name, true);
  if (index == kNoSlot) return;
  KeySlot& slot = g_slots[index];
  SlotGuard guard(slot);
  if (!guard.owned) return;
  if (!slot.gathered.load(std::memory_order_relaxed)) flags |= wire::kKeyNoGather;
  if (slot.remaining == 0) {
    slot.remaining = slot.declared = declared > 0 ? declared : 1;
  } else if (declared != slot.declared) {
    flags |= wire::kKeyMismatch;
  }
  // A release that threw has released nothing: it will be tried again.
  const bool unwound = (flags & wire::kKeyUnwound) != 0;
  if (!unwound) --slot.remaining;
  const bool final = slot.remaining == 0 && !slot.persistent && !unwound;
  if (final) {
    flags |= wire::kKeyFinal;
    const TorchThread* thread = torch_thread();
    if (thread != nullptr && thread->pending_count == TorchThread::kMaxPending) flags |= wire::kKeyNotSettled;
    write_launches();
    write_last_touch(slot);
  }
  write_key(wire::RecordType::kRelease, slot, nullptr, op, declared, flags);
  if (!final) return;
  slot.gathered.store(false, std::memory_order_release);
  const void* storage = slot.storage.load(std::memory_order_acquire);
  // Of a framework that gives the bytes back itself and gathers anew before each use, an empty storage is not looked at
  // any more: every operator's inputs would be, all the time.
  const bool gone = (flags & wire::kKeyFunction) != 0 && layout::bytes_of(storage) == 0;
  if (storage != nullptr && !gone && !slot.released.exchange(true)) {
    g_released_alive.fetch_add(1, std::memory_order_relaxed);
    watch_gpu_memory(storage);
  }
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  if (thread->pending_count == TorchThread::kMaxPending) {
    if (!g_said_full.exchange(true, std::memory_order_relaxed)) {
      agent::diagnose(wire::DiagnosticCode::kNote,
                      "a thread released more parameters in a row, without an operator in between, than are looked at "
                      "again: of some it is not known what their release left and who held it");
    }
    return;
  }
  thread->pending[thread->pending_count++] = index;
}

}  // namespace

void key_release_ends(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->releasing = 0;
  end_release(name, declared, op, flags);
  // The very next operator may read what was released.
  switch_operator_events();
}

void settle_releases() noexcept {
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->pending_count == 0) return;
  const std::uint32_t count = thread->pending_count;
  thread->pending_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    KeySlot& slot = g_slots[thread->pending[i]];
    SlotGuard guard(slot);
    if (!guard.owned || slot.gathered.load(std::memory_order_relaxed)) continue;
    const void* storage = slot.storage.load(std::memory_order_acquire);
    // Parameters that were gathered together into one buffer leave it one by one.
    const bool shared = storage != nullptr && claim_on(storage).gathered != nullptr;
    write_key(wire::RecordType::kReleaseSettled, slot, nullptr, 0, 0, shared ? wire::kKeyShared : 0);
    if (!shared && layout::bytes_of(storage) != 0) {
      take_census(wire::CensusTrigger::kRelease, storage, slot.name.graph, slot.name.key);
      expect_gpu_touches(storage);
    }
  }
}

void look_at_released(wire::CensusTrigger trigger) noexcept {
  if (g_released_alive.load(std::memory_order_relaxed) == 0) return;
  struct Released {
    std::uint64_t bytes;
    std::uint32_t slot;
  };
  constexpr std::uint32_t kMost = 64;
  Released largest[kMost];
  std::uint32_t count = 0;
  for (std::uint32_t index = 0; index < kSlots; ++index) {
    const KeySlot& slot = g_slots[index];
    if (!slot.released.load(std::memory_order_acquire)) continue;
    const void* storage = slot.storage.load(std::memory_order_acquire);
    if (storage == nullptr || claim_on(storage).released != &slot) continue;
    const Released found{layout::bytes_of(storage), index};
    if (found.bytes == 0) continue;
    if (count < kMost) {
      largest[count++] = found;
      continue;
    }
    Released* least = std::min_element(largest, largest + kMost,
                                       [](const Released& a, const Released& b) { return a.bytes < b.bytes; });
    if (least->bytes < found.bytes) *least = found;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    KeySlot& slot = g_slots[largest[i].slot];
    SlotGuard guard(slot);
    const void* storage = slot.storage.load(std::memory_order_acquire);
    if (!guard.owned || storage == nullptr || !slot.released.load(std::memory_order_acquire)) continue;
    take_census(trigger, storage, slot.name.graph, slot.name.key);
  }
}

bool key_is_gathered(KeyName name) noexcept {
  const std::uint32_t index = find_slot(name, false);
  return index != kNoSlot && g_slots[index].gathered.load(std::memory_order_relaxed);
}

bool key_of_storage(const void* storage, std::int64_t graph, KeyName& out) noexcept {
  for (const auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    if (entry.storage.load(std::memory_order_acquire) != storage || entry.slot == kNoSlot) continue;
    out = g_slots[entry.slot].name;
    if (out.graph == graph) return true;
  }
  return false;
}

bool keys_exist() noexcept { return g_keys_exist.load(std::memory_order_relaxed); }

bool reads_wanted() noexcept {
  return g_released_alive.load(std::memory_order_relaxed) > 0 || g_moved_count.load(std::memory_order_relaxed) > 0;
}

bool released_key_of(const void* tensor, ReleasedKey& out) noexcept {
  const void* storage = layout::storage_of(tensor);
  if (storage != nullptr && g_released_alive.load(std::memory_order_relaxed) > 0) {
    const Claim claim = claim_on(storage);
    // A buffer that another key has gathered into is that key's to read.
    if (claim.gathered != nullptr) return false;
    if (claim.released != nullptr) {
      out = {claim.released->name, storage, layout::bytes_of(storage)};
      return true;
    }
  }
  // A tensor that its release re-pointed to nothing. One that was re-pointed to other data is a good tensor again.
  if (g_moved_count.load(std::memory_order_relaxed) > 0 && layout::bytes_of(storage) == 0) {
    const MovedTensor& entry = g_moved[spread(tensor, 12)];
    if (entry.tensor.load(std::memory_order_acquire) == tensor) {
      const KeySlot& slot = g_slots[entry.slot];
      out = {slot.name, slot.storage.load(std::memory_order_acquire), 0};
      return true;
    }
  }
  return false;
}

namespace {

void write_read_record(const ReleasedKey& key, const void* tensor, const char* reader, std::uint64_t ordinal,
                       std::uint32_t flags) noexcept {
  const std::uint64_t name = reader != nullptr ? agent::intern(reader, strlen(reader)) : 0;
  const std::uint64_t stack = stack_here();
  write_running_ops();
  auto* record =
      static_cast<wire::ReadRecord*>(agent::begin_record(wire::RecordType::kRead, sizeof(wire::ReadRecord), flags));
  if (record == nullptr) return;
  record->graph = key.name.graph;
  record->key = key.name.key;
  record->storage = reinterpret_cast<std::uint64_t>(key.storage);
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->bytes = key.bytes;
  record->op = name;
  record->ordinal = ordinal;
  record->stack = stack;
  agent::commit_record(record);
}

}  // namespace

void write_read(const ReleasedKey& key, const void* tensor, const char* op, std::uint64_t ordinal) noexcept {
  const std::uint32_t index = find_slot(key.name, false);
  if (index == kNoSlot || g_slots[index].reads.fetch_add(1, std::memory_order_relaxed) >= kReadsPerRelease) return;
  write_read_record(key, tensor, op, ordinal, 0);
}

void kernel_touches(const void* storage, std::uint64_t bytes, const char* kernel, std::uint64_t ordinal,
                    bool left_over) noexcept {
  const Claim claim = claim_on(storage);
  if (KeySlot* slot = claim.gathered; slot != nullptr) {
    // Of two launches at one moment either is the last.
    slot->touch_name.store(kernel != nullptr ? agent::intern(kernel, strlen(kernel)) : 0, std::memory_order_relaxed);
    slot->touch_tsc.store(agent::cycles(), std::memory_order_relaxed);
    slot->touches.fetch_add(1, std::memory_order_relaxed);
  } else if (slot = claim.released; slot != nullptr && !left_over) {
    if (slot->kernel_reads.fetch_add(1, std::memory_order_relaxed) >= kReadsPerRelease) return;
    write_read_record({slot->name, storage, bytes}, nullptr, kernel, ordinal, wire::kReadByKernel);
  }
}

void watch_small(const void* storage) noexcept {
  if (!storage_is_watched(storage)) watch(storage, kNoSlot);
}

bool is_among_watched(const void* storage) noexcept {
  // An entry that is free holds no storage, and a tensor can have none.
  if (storage == nullptr || !may_be_watched(storage)) return false;
  for (const auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    if (entry.storage.load(std::memory_order_relaxed) == storage) return true;
  }
  return false;
}

void watched_storage_empties(const void* storage) noexcept {
  const Claim claim = claim_on(storage);
  if (claim.gathered != nullptr || claim.released != nullptr) tell_next_operator();
}

void watched_storage_ends(const void* storage) noexcept {
  if (!may_be_watched(storage)) return;
  for (auto& entry : g_watched[watch_bucket_of(storage)].entries) {
    const void* expected = storage;
    const std::uint32_t index = entry.slot;
    if (entry.storage.load(std::memory_order_relaxed) != storage) continue;
    if (!entry.storage.compare_exchange_strong(expected, nullptr)) continue;
    count_unwatched(storage);
    if (index == kNoSlot) continue;
    KeySlot& slot = g_slots[index];
    const void* held = storage;
    if (!slot.storage.compare_exchange_strong(held, nullptr)) continue;
    tell_next_operator();
    no_longer_released(slot, storage);
    unwatch_gpu_memory(storage);
  }
}

void watched_tensor_moves(const void* tensor, const void* old_storage) noexcept {
  const TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  if (thread->in_cycle_op == 0) {
    watched_tensor_ends(tensor);  // whoever re-points it outside of a release gives it new meaning
    return;
  }
  if (!may_be_watched(old_storage)) return;
  // Of several keys in one buffer, the one that is released here.
  std::uint32_t index = kNoSlot;
  for (const auto& watched : g_watched[watch_bucket_of(old_storage)].entries) {
    if (watched.storage.load(std::memory_order_acquire) != old_storage || watched.slot == kNoSlot) continue;
    if (index == kNoSlot || watched.slot + 1 == thread->releasing) index = watched.slot;
  }
  if (index == kNoSlot) return;
  for (auto& entry : g_slots[index].moved) {
    const void* empty = nullptr;
    if (!entry.compare_exchange_strong(empty, tensor)) continue;
    MovedTensor& moved = g_moved[spread(tensor, 12)];
    moved.slot = index;
    if (moved.tensor.exchange(tensor) == nullptr) g_moved_count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

void watched_tensor_ends(const void* tensor) noexcept {
  if (g_moved_count.load(std::memory_order_relaxed) == 0) return;
  MovedTensor& moved = g_moved[spread(tensor, 12)];
  const void* expected = tensor;
  if (!moved.tensor.compare_exchange_strong(expected, nullptr)) return;
  g_moved_count.fetch_sub(1, std::memory_order_relaxed);
  for (auto& entry : g_slots[moved.slot].moved) {
    expected = tensor;
    entry.compare_exchange_strong(expected, nullptr);
  }
}

}  // namespace dcmt::torch_provider
