#include "collector/torch/keys/release_keys.h"

#include <algorithm>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/keys/proof.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/records/callback_switch.h"
#include "collector/torch/records/census.h"
#include "collector/torch/records/gpu_memory.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/records/tensor_records.h"
#include "collector/torch/state/storage_copy.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

constinit bool g_off = true;  ///< without a way to read memory through the kernel, a key's storage cannot be inspected

/// Flag in TorchThread::pending: the verdict is written, and only the census is missing.
constexpr std::uint32_t kSettled = 1u << 31;

/// 0: the event is not recorded.
KeyIndex followed_key(KeyName name) noexcept { return g_off ? 0 : find_or_add_key(name); }

/// A key has given up its claim on a storage. If no other claim exists, the storage's GPU memory need not be watched.
void unwatch_if_unclaimed(const void* storage) noexcept {
  if (storage == nullptr || agent::watched_ranges() == 0) return;
  const Claims claims = claims_on(storage);
  const bool wanted = claims.gathered ? agent::full_detail() : claims.released != 0;
  if (!wanted) unwatch_gpu_memory(storage);
}

/// The memory of a key is gone. The next operator shows whether that was before the end of the program's work, even if
/// nothing is recorded inside it, so its begin is written.
void record_next_operator() noexcept {
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->record_next_op = true;
}

/// The fields of a key's record that are not in the key's own state.
struct Event {
  wire::RecordType type;
  const void* tensor = nullptr;
  std::uint64_t op = 0;
  std::int32_t declared = 0;
  std::uint32_t flags = 0;
};

/// Requires the key's KeyGuard.
void write_key(KeyIndex key, const Event& event) noexcept {
  const std::uint64_t stack = stack_here();
  write_small_sums();
  write_running_ops();
  const KeySlot& slot = key_at(key);
  const void* storage = storage_of_key(key);
  // Another thread may end the storage meanwhile. The copy is valid if the key still has the storage at the end.
  const StorageCopy copy(storage);
  std::uint32_t flags = event.flags;
  const std::uint32_t none = slot.untracked ? wire::kKeyUntracked : wire::kKeyStorageDead;
  if (storage == nullptr) flags |= none;
  if (slot.cycle.persistent) flags |= wire::kKeyPersistent;
  if (event.tensor != nullptr) flags |= (layout::dtype_of(event.tensor) + 1) << wire::kKeyDtypeShift;
  auto* record = static_cast<wire::KeyRecord*>(agent::begin_record(event.type, sizeof(wire::KeyRecord), flags));
  if (record == nullptr) return;
  const TorchThread* thread = torch_thread();
  // If the storage has ended since, its death has a lower sequence than this record.
  const bool alive = storage != nullptr && storage_of_key(key) == storage;
  if (!alive) record->header.aux |= none;
  record->graph = slot.name.graph;
  record->key = slot.name.key;
  record->op = event.op;
  record->tensor = reinterpret_cast<std::uint64_t>(event.tensor);
  record->storage = alive ? reinterpret_cast<std::uint64_t>(storage) : 0;
  record->data = alive ? copy.data() : 0;
  record->bytes = alive ? copy.bytes() : 0;
  record->declared = event.declared;
  record->remaining = slot.cycle.remaining;
  record->cycle = slot.cycle.number;
  record->stack = stack;
  record->ordinal = thread != nullptr ? thread->ordinal : 0;
  agent::commit_record(record);
}

/// Writes the last touch of the storage before its final release, if there is one.
void write_last_touch(KeyIndex key) noexcept {
  const KeySlot& slot = key_at(key);
  const void* storage = storage_of_key(key);
  const Touches touches = touches_of(storage);
  if (touches.count <= slot.touches_before) return;
  auto* record = static_cast<wire::LastTouchRecord*>(
      agent::begin_record(wire::RecordType::kLastTouch, sizeof(wire::LastTouchRecord), 0));
  if (record == nullptr) return;
  record->graph = slot.name.graph;
  record->key = slot.name.key;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->op = touches.name;
  record->touches = touches.count - slot.touches_before;
  record->tsc = touches.tsc;
  agent::commit_record(record);
}

/// Sets the key's storage. A storage that cannot be tracked makes the key untracked.
void set_storage(KeyIndex key, const void* storage, bool gathers) noexcept {
  const void* before = storage_of_key(key);
  const bool hangs = hang_gathered(key, storage, gathers);
  key_at(key).untracked = !hangs && storage != nullptr;
  unwatch_if_unclaimed(before);
  if (!hangs || storage == nullptr) return;
  if (storage != before) {
    follow_from_now(storage);
    key_at(key).touches_before = touches_of(storage).count;
  }
  watch_gpu_memory_in_use(storage);
}

}  // namespace

void forget_release_keys() noexcept {
  forget_keys();
  forget_watched();
  forget_moved_tensors();
  set_operator_need(OperatorNeed::kKeys, false);
}

bool make_release_keys() noexcept {
  if (!make_key_table() || !make_storage_watch() || !make_moved_tensors()) return false;
  const char here[8] = {};
  char copy[sizeof here];
  g_off = !read_memory(here, copy, sizeof copy);
  if (g_off) {
    agent::diagnose(wire::DiagnosticCode::kProviderOff,
                    "the kernel does not let the process read its own memory (process_vm_readv, perhaps by a seccomp "
                    "filter): gathers and releases of parameters are not recorded");
  }
  return true;
}

void key_gathered(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept {
  settle_releases(Settling::kWithCensus);
  if (proving()) unfence_gathered(what.storage);
  const KeyIndex key = followed_key(name);
  if (key == 0) return;
  // From here on a thread's operators are needed: a release is settled at the next one.
  if (!has_operator_need(OperatorNeed::kKeys)) {
    set_operator_need(OperatorNeed::kKeys, true);
    switch_callbacks();
  }
  // A wrapped operator releases in the code that gathers; a function of Python does both in other code.
  if ((flags & wire::kKeyFunction) == 0) agent::prepare_visit();
  KeySlot& slot = key_at(key);
  const KeyGuard guard(slot);
  if (!guard.owned) return;
  const bool another = what.storage != nullptr && storage_of_key(key) != what.storage;
  set_storage(key, what.storage, true);
  forget_reads(key);
  if (gather(slot.cycle, another)) slot.touches_before = touches_of(what.storage).count;
  write_key(key, {wire::RecordType::kGather, what.tensor, op, 0, flags});
  if (watching_counts()) counted_key_gathered(name, what.storage);
  if (proving()) see_graph(name.graph);
}

void key_waited(KeyName name, Gathered what, std::uint64_t op, std::uint32_t flags) noexcept {
  const KeyIndex key = followed_key(name);
  if (key == 0) return;
  KeySlot& slot = key_at(key);
  const KeyGuard guard(slot);
  if (!guard.owned) return;
  if (slot.cycle.gathered) set_storage(key, what.storage, false);
  write_key(key, {wire::RecordType::kWait, what.tensor, op, 0, flags});
}

void key_persistent(KeyName name, std::uint64_t op, std::uint32_t flags) noexcept {
  const KeyIndex key = followed_key(name);
  if (key == 0) return;
  KeySlot& slot = key_at(key);
  const KeyGuard guard(slot);
  if (!guard.owned) return;
  slot.cycle.persistent = true;
  write_key(key, {wire::RecordType::kPersist, nullptr, op, 0, flags});
}

void key_release_begins(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  const KeyIndex key = followed_key(name);
  if (key == 0) return;
  KeySlot& slot = key_at(key);
  const KeyGuard guard(slot);
  if (!guard.owned) return;
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->releasing = key;
  write_key(key, {wire::RecordType::kReleaseBegin, nullptr, op, declared, flags});
}

namespace {

/// The key's cycle has ended. From here on, reads of its storage are observed.
void follow_released(KeyIndex key, std::uint32_t flags) noexcept {
  const void* storage = storage_of_key(key);
  const StorageCopy copy(storage);
  // A framework that frees the bytes itself gathers again before each use. Its empty storages are not observed:
  // otherwise the inputs of every operator would be checked all the time.
  const bool gone = (flags & wire::kKeyFunction) != 0 && copy.bytes() == 0;
  if (!hang_released(key, !gone)) return;
  watch_gpu_memory(storage, copy);
  if (storage_of_key(key) != storage) unwatch_gpu_memory(storage);  // the storage has ended meanwhile
}

void end_release(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  const KeyIndex key = followed_key(name);
  if (key == 0) return;
  KeySlot& slot = key_at(key);
  const KeyGuard guard(slot);
  if (!guard.owned) return;
  flags |= release(slot.cycle, declared, (flags & wire::kKeyUnwound) != 0);
  const bool final = (flags & wire::kKeyFinal) != 0;
  TorchThread* thread = torch_thread();
  const bool settles = thread != nullptr && thread->pending_count < TorchThread::kMaxPending;
  if (final) {
    if (!settles) flags |= wire::kKeyNotSettled;
    write_launches();
    write_last_touch(key);
  }
  write_key(key, {wire::RecordType::kRelease, nullptr, op, declared, flags});
  if (!final) return;
  follow_released(key, flags);
  if (proving()) fence_released(key);
  if (settles) {
    thread->pending[thread->pending_count++] = key;
    return;
  }
  agent::diagnose(wire::DiagnosticCode::kNote,
                  "a thread released more parameters in a row, without an operator in between, than are checked "
                  "again: of some it is not known what their release left and who held it");
}

}  // namespace

void key_release_ends(KeyName name, std::int32_t declared, std::uint64_t op, std::uint32_t flags) noexcept {
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->releasing = 0;
  end_release(name, declared, op, flags);
  // The next operator may already read what was released.
  switch_callbacks();
}

void settle_releases(Settling where) noexcept {
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->pending_count == 0) return;
  const std::uint32_t count = thread->pending_count;
  thread->pending_count = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pending = thread->pending[i];
    const KeyIndex key = pending & ~kSettled;
    KeySlot& slot = key_at(key);
    const KeyGuard guard(slot);
    if (!guard.owned || slot.cycle.gathered) continue;
    const void* storage = storage_of_key(key);
    // What is to be freed is freed where the next operator begins. Before that, memory may be allocated.
    if (where == Settling::kNoCensus && proving() && is_to_free(key)) {
      thread->pending[thread->pending_count++] = pending;
      continue;
    }
    // Parameters that were gathered together into one buffer are released one by one.
    const bool shared = storage != nullptr && claims_on(storage).gathered;
    if ((pending & kSettled) == 0) {
      write_key(key, {wire::RecordType::kReleaseSettled, nullptr, 0, 0, shared ? wire::kKeyShared : 0});
    }
    const StorageCopy copy(storage);
    if (shared || copy.bytes() == 0) continue;
    if (where == Settling::kNoCensus) {
      thread->pending[thread->pending_count++] = pending | kSettled;  // at most as many as were removed
      continue;
    }
    run_census(wire::CensusTrigger::kRelease, storage, key);
    expect_gpu_touches(copy);
    if (proving()) prove_left(key, storage, copy);
  }
}

void free_released(bool (*empty)(const void* storage) noexcept) noexcept {
  TorchThread* thread = torch_thread();
  for (std::uint32_t i = 0; thread != nullptr && i < thread->pending_count; ++i) {
    const KeyIndex key = thread->pending[i] & ~kSettled;
    const void* storage = storage_of_key(key);
    if (storage == nullptr || !is_to_free(key) || claims_on(storage).gathered) continue;
    if (StorageCopy(storage).bytes() != 0) empty(storage);
  }
}

namespace {

/// The largest released storages.
struct Largest {
  struct Released {
    std::uint64_t bytes;
    KeyIndex key;
  };
  static constexpr std::uint32_t kMost = 64;
  Released released[kMost];
  std::uint32_t count = 0;

  void add(KeyIndex key, const void* storage) noexcept {
    const Released found{StorageCopy(storage).bytes(), key};
    if (found.bytes == 0) return;
    if (count < kMost) {
      released[count++] = found;
      return;
    }
    Released* least = std::min_element(released, released + kMost,
                                       [](const Released& a, const Released& b) { return a.bytes < b.bytes; });
    if (least->bytes < found.bytes) *least = found;
  }
};

}  // namespace

void inspect_released(wire::CensusTrigger trigger) noexcept {
  if (!released_storages_alive()) return;
  Largest largest;
  each_released(
      [](void* context, KeyIndex key, const void* storage) { static_cast<Largest*>(context)->add(key, storage); },
      &largest);
  for (std::uint32_t i = 0; i < largest.count; ++i) {
    const KeyIndex key = largest.released[i].key;
    const KeyGuard guard(key_at(key));
    const void* storage = storage_of_key(key);
    if (guard.owned && storage != nullptr && !key_at(key).cycle.gathered) run_census(trigger, storage, key);
  }
}

bool key_is_gathered(KeyName name) noexcept {
  const KeyIndex key = find_key(name);
  if (key == 0) return false;
  const KeyGuard guard(key_at(key));
  return guard.owned && key_at(key).cycle.gathered;
}

void watched_storage_empties(const void* storage) noexcept {
  const Claims claims = claims_on(storage);
  if (claims.gathered || claims.released != 0) record_next_operator();
}

void watched_storage_ends(const void* storage) noexcept {
  if (!storage_is_watched(storage) || !unwatch_storage(storage)) return;
  record_next_operator();
  unwatch_gpu_memory(storage);
}

}  // namespace dcmt::torch_provider
