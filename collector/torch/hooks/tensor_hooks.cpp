// Every hook that records does the same: gate, guard, stack, sequence, store. A death is stamped before the real call,
// a birth after it.
//
// docs/decisions/hooks.md: every TensorImpl constructor but one delegates to the four-argument constructor through
// libc10's own import slot, and every destructor runs through an import slot of D1 or D2. So each birth and each death
// is observed once.
#include "collector/torch/hooks/tensor_hooks.h"

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/symbols.h"
#include "collector/torch/hooks/new_objects.h"
#include "collector/torch/keys/function_cycles.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/records/followed_storages.h"
#include "collector/torch/records/key_reads.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/records/tensor_records.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

using elf::find;
using elf::ImportPatch;
using elf::patch_slot;
using elf::pointer;

using Construct4 = void (*)(void*, void*, std::uint64_t, std::uint16_t, std::uint32_t);
using ConstructView = void (*)(void*, int, void*, std::uint64_t, std::uint16_t);
using OneObject = void (*)(void*);
/// Returns an intrusive_ptr<TensorImpl>.
using Detach = elf::HiddenResult (*)(const void*, const void*, bool);

void** g_tensor_table;
Construct4 g_construct4;
ConstructView g_construct_view;
OneObject g_destroy_tensor;
OneObject g_release_tensor;
const void* g_undefined;  ///< the static undefined tensor; it exists before anything can be observed
Detach g_detach;
Detach g_detach_move;

struct Birth {
  bool first;  ///< first tensor on its storage
  std::uint64_t stack;
  std::uint64_t tsc;  ///< 0: now
};

/// True if the storage's block is the thread's latest one and has no tensor yet.
bool has_latest_block(const void* storage, const TorchThread* thread) noexcept {
  return thread != nullptr && thread->block != 0 && thread->block == layout::data_of(storage);
}

/// True if the new tensor is the first of its storage: nothing else refers to the storage yet, or its block is new.
bool is_first(const void* storage, const TorchThread* thread) noexcept {
  return storage != nullptr && (layout::strong_count(storage) == 1 || has_latest_block(storage, thread));
}

Birth birth_on(const void* storage) noexcept {
  TorchThread* thread = torch_thread();
  if (!is_first(storage, thread)) return {false, stack_of(storage), 0};
  if (!has_latest_block(storage, thread)) return {true, stack_here(), 0};
  // The block was allocated for this tensor, just before and at the same place of the program.
  thread->block = 0;
  return {true, thread->block_stack, thread->block_tsc};
}

// Code that few births and ends need is in functions of its own, so that the common path needs few registers.

[[gnu::noinline]] void record_birth(const void* tensor, const void* storage) noexcept {
  const Birth birth = birth_on(storage);
  const agent::SharedTime time(birth.tsc);
  write_tensor(wire::RecordType::kTensorBirth, tensor, storage, birth.stack);
  if (!birth.first) return;
  born_in_function(tensor, birth.stack);
  if (watching_counts() && storage != nullptr) counted_storage_born(tensor, storage, birth.stack);
  if (agent::hold_is_due()) agent::hold_soon();
}

[[gnu::noinline]] void born_without_storage(const void* tensor) noexcept {
  TorchThread* thread = torch_thread();
  if (thread != nullptr && thread->in_detach != 0) {
    thread->detached = tensor;
  } else if (agent::full_detail()) {
    record_birth(tensor, nullptr);
  }
}

void tensor_born(const void* tensor) noexcept {
  if (!agent::recording()) return;
  agent::Inside inside;
  // An extension may make tensors before any operator runs, and end them at once through import slots of its own.
  if (agent::objects_changed() && agent::consume_objects_changed()) patch_new_objects();
  const void* storage = layout::storage_of(tensor);
  if (storage == nullptr) return born_without_storage(tensor);
  const bool recorded = agent::full_detail() || (is_followed_by_size(storage) && is_first(storage, torch_thread()));
  // Add tensors of any size: a storage can grow, and a storage is recognized as a key's only after its tensors were
  // born.
  sharing_add(tensor, storage, recorded);
  // On a key's storage, each tensor is recorded once: by its birth or by the gather, whichever comes first.
  if (recorded || (storage_is_watched(storage) && sharing_note_recorded(tensor, storage) != BirthRecorded::kYes)) {
    record_birth(tensor, storage);
  }
  if (watching_counts()) counted_tensor_joins(storage);
}

/// True if a tensor's end is recorded.
/// @param recorded  whether its birth was recorded, if it has a storage
bool records_end(const void* storage, BirthRecorded recorded, wire::RecordType type) noexcept {
  if (agent::full_detail()) return true;
  // Without its storage, it may be a tensor that was tracked and released, so its end is recorded.
  if (storage == nullptr) return type == wire::RecordType::kTensorDeath;
  if (recorded == BirthRecorded::kNotKnown) return follow_end(storage);
  // A gather on another thread may be recording the tensor: it watches the storage, records, and checks again.
  return recorded == BirthRecorded::kYes || storage_is_watched(storage);
}

[[gnu::noinline]] void record_end(wire::RecordType type, const void* tensor, const void* storage) noexcept {
  const agent::SharedTime time;
  write_tensor(type, tensor, storage, 0);
  TorchThread* thread = torch_thread();
  // If the tensor is the only owner of its storage, the storage ends with it, and the block with the storage. If it has
  // autograd data, anything can end in between.
  if (thread == nullptr || storage == nullptr || layout::strong_count(storage) != 1 || layout::has_autograd(tensor)) {
    return;
  }
  thread->ending_storage = storage;
  thread->ending_tsc = time.tsc();
}

void tensor_ends(const void* tensor, wire::RecordType type) noexcept {
  if (!agent::recording() || tensor == g_undefined) return;
  agent::Inside inside;
  watched_tensor_ends(tensor);
  const void* storage = layout::storage_of(tensor);
  BirthRecorded recorded = BirthRecorded::kNotKnown;
  if (storage != nullptr) recorded = sharing_remove(tensor, storage);
  if (TorchThread* thread = torch_thread_if_any(); thread != nullptr) thread->ending_storage = nullptr;
  if (watching_counts()) counted_tensor_ends(tensor);
  if (records_end(storage, recorded, type)) record_end(type, tensor, storage);
}

// `storage` is a reference to a Storage, which is one pointer. `device` is an optional<Device>: three bytes in one
// register.
void on_construct4(void* tensor, void* storage, std::uint64_t keys, std::uint16_t type, std::uint32_t device) {
  sharing_expect(reinterpret_cast<const void*>(layout::word(storage, 0)));
  g_construct4(tensor, storage, keys, type, device);
  tensor_born(tensor);
}

void on_construct_view(void* tensor, int kind, void* storage, std::uint64_t keys, std::uint16_t type) {
  sharing_expect(reinterpret_cast<const void*>(layout::word(storage, 0)));
  g_construct_view(tensor, kind, storage, keys, type);
  tensor_born(tensor);
}

class Deeper {
 public:
  explicit Deeper(std::uint32_t& depth) noexcept : depth_(depth) { ++depth_; }
  ~Deeper() {
    if (depth_ != 0) --depth_;  // 0: the call began in another recording
  }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  std::uint32_t& depth_;
};

void detach(Detach real, void* result, const void* tensor, const void* version, bool allow_change) {
  TorchThread* thread = agent::recording() ? torch_thread() : nullptr;
  if (thread == nullptr) return elf::call_into(result, real, tensor, version, allow_change);
  {
    const Deeper deeper(thread->in_detach);  // the real function may throw
    elf::call_into(result, real, tensor, version, allow_change);
  }
  // A subclass may return a tensor that was born elsewhere and is recorded already.
  const void* const detached = *static_cast<const void**>(result);
  if (detached == thread->detached && detached != nullptr) {
    thread->detached = nullptr;
    tensor_born(detached);
  }
}

elf::HiddenResult on_detach(const void* tensor, const void* version, bool allow_change) {
  return elf::HiddenResult([&](void* at) { detach(g_detach, at, tensor, version, allow_change); });
}

elf::HiddenResult on_detach_move(const void* tensor, const void* version, bool allow_change) {
  return elf::HiddenResult([&](void* at) { detach(g_detach_move, at, tensor, version, allow_change); });
}

void on_destroy_tensor(void* tensor) {
  tensor_ends(tensor, wire::RecordType::kTensorDeath);
  g_destroy_tensor(tensor);
}

void on_release_tensor(void* tensor) {
  tensor_ends(tensor, wire::RecordType::kTensorRelease);
  g_release_tensor(tensor);
}

const ImportPatch kImports[] = {
    {kConstruct4, pointer(on_construct4), "libc10.so"},      {kConstructViewC1, pointer(on_construct_view), nullptr},
    {kConstructViewC2, pointer(on_construct_view), nullptr}, {kDestroyD1, pointer(on_destroy_tensor), nullptr},
    {kDestroyD2, pointer(on_destroy_tensor), nullptr},
};

}  // namespace

bool find_tensors(void* c10) noexcept {
  g_tensor_table = static_cast<void**>(elf::symbol_in_use(c10, kTensorTable));
  g_undefined = elf::symbol_in_use(c10, kUndefined);
  return find(c10, kConstruct4, g_construct4) && find(c10, kConstructViewC1, g_construct_view) &&
         find(c10, kDestroyD2, g_destroy_tensor) && g_tensor_table != nullptr;
}

bool tensor_table_is_ours_alone() noexcept {
  return g_release_tensor == nullptr || (g_tensor_table[layout::kTensorSlotRelease] == pointer(g_release_tensor) &&
                                         g_tensor_table[layout::kTensorSlotDetach] == pointer(g_detach) &&
                                         g_tensor_table[layout::kTensorSlotDetachMove] == pointer(g_detach_move));
}

bool hook_tensors() noexcept {
  g_release_tensor = reinterpret_cast<OneObject>(g_tensor_table[layout::kTensorSlotRelease]);
  g_detach = reinterpret_cast<Detach>(g_tensor_table[layout::kTensorSlotDetach]);
  g_detach_move = reinterpret_cast<Detach>(g_tensor_table[layout::kTensorSlotDetachMove]);
  return patch_slot(g_tensor_table, layout::kTensorSlotRelease, pointer(on_release_tensor)) &&
         patch_slot(g_tensor_table, layout::kTensorSlotDetach, pointer(on_detach)) &&
         patch_slot(g_tensor_table, layout::kTensorSlotDetachMove, pointer(on_detach_move));
}

std::span<const ImportPatch> tensor_imports() noexcept { return kImports; }

}  // namespace dcmt::torch_provider
