// Every hook that records does the same: gate, guard, stack, sequence, store. A death is stamped before the real call,
// a birth after it.
//
// docs/adr/0002: every TensorImpl constructor but one delegates to the four-argument constructor through libc10's own
// import slot, and every destructor runs through an import slot of D1 or D2. So each birth and each death is observed
// once.
#include "collector/torch/lifetime_hooks.h"

#include <stdio.h>
#include <time.h>

#include <atomic>
#include <span>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/allocator_hooks.h"
#include "collector/torch/block_owners.h"
#include "collector/torch/function_cycles.h"
#include "collector/torch/gpu_memory.h"
#include "collector/torch/layout.h"
#include "collector/torch/operator_events.h"
#include "collector/torch/pinned_blocks.h"
#include "collector/torch/release_keys.h"
#include "collector/torch/sharing_set.h"
#include "collector/torch/small_blocks.h"
#include "collector/torch/symbols.h"
#include "collector/torch/torch_thread.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

using elf::find;
using elf::ImportPatch;
using elf::loaded_library;
using elf::patch_slot;
using elf::pointer;
using elf::symbol_in_use;

using Construct4 = void (*)(void*, void*, std::uint64_t, std::uint16_t, std::uint32_t);
using ConstructView = void (*)(void*, int, void*, std::uint64_t, std::uint16_t);
using OneObject = void (*)(void*);
/// Returns an intrusive_ptr<TensorImpl> through a hidden first argument.
using Detach = void* (*)(const void**, const void*, const void*, bool);
using CopyFrom = void (*)(void*, const void*);
/// copy_tensor_metadata(source, destination, version by reference, flag), by either kind of reference.
using CopyMetadata = void (*)(const void*, void*, const void*, bool);
/// An ArrayRef: two words by value.
struct Span {
  const void* data;
  std::size_t size;
};
/// set_(tensor, storage by reference, offset or a reference to a symbolic one, sizes, strides) returns the tensor.
using SetStorage = void* (*)(void*, void*, std::int64_t, Span, Span);
/// Returns an intrusive_ptr<StorageImpl> through a hidden first argument; size and data are passed by reference.
using MakeStorage = void* (*)(void**, const void*, void*, void*, bool, std::uint32_t);
using ResizeStorage = void (*)(void*, std::size_t);
/// Engine::execute(roots, inputs, keep graph, create graph, accumulate, outputs): a vector through a hidden argument.
using EngineExecute = void* (*)(void*, void*, const void*, const void*, bool, bool, bool, const void*);

Construct4 g_construct4;
ConstructView g_construct_view;
OneObject g_destroy_tensor;
OneObject g_release_tensor;
const void* g_undefined;  ///< the static undefined tensor; it exists before anything can be observed
Detach g_detach;
Detach g_detach_move;
CopyFrom g_copy_from;
CopyMetadata g_copy_metadata;
CopyMetadata g_copy_metadata_move;
SetStorage g_set_cpu;
SetStorage g_set_cuda;
SetStorage g_set_meta;
SetStorage g_set_quantized;
MakeStorage g_make_storage;
OneObject g_delete_storage;
OneObject g_release_storage;
OneObject g_delete_functional;
OneObject g_release_functional;
ResizeStorage g_resize_cpu;
ResizeStorage g_resize_cuda;
EngineExecute g_engine_execute;

/// True if the birth of an object on this storage is recorded.
bool follow_begin(const void* storage) noexcept {
  return agent::full_detail() || is_followed_by_size(storage) || storage_is_watched(storage);
}

/// True if the end of an object on this storage is recorded. That includes a storage without bytes, because it may have
/// had many. The recorder ignores the end of an object whose begin it has not seen.
bool follow_end(const void* storage) noexcept { return follow_begin(storage) || layout::is_empty(storage); }

/// The stack for a begin or an end on this storage. In `lifetimes`, views and ends have no stack, except on a key's
/// storage: a default run can afford only the stack of each storage's begin.
std::uint64_t stack_of(const void* storage) noexcept {
  return agent::full_detail() || storage_is_watched(storage) ? stack_here() : 0;
}

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

void write_tensor(wire::RecordType type, const void* tensor, const void* storage, std::uint64_t stack) noexcept {
  write_running_ops();
  auto* record = static_cast<wire::TensorRecord*>(agent::begin_record(type, sizeof(wire::TensorRecord), 0));
  if (record == nullptr) return;
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->data = layout::data_of(storage);
  record->bytes = layout::bytes_of(storage);
  record->stack = stack;
  agent::commit_record(record);
}

// Code that few births and ends need is in functions of its own, so that the common path needs few registers.

[[gnu::noinline]] void record_birth(const void* tensor, const void* storage) noexcept {
  const Birth birth = birth_on(storage);
  const agent::SharedTime time(birth.tsc);
  write_tensor(wire::RecordType::kTensorBirth, tensor, storage, birth.stack);
  if (!birth.first) return;
  born_in_function(tensor, birth.stack);
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
  if (!recorded && (!storage_is_watched(storage) || sharing_note_recorded(tensor, storage) == BirthRecorded::kYes))
    return;
  record_birth(tensor, storage);
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
  if (records_end(storage, recorded, type)) record_end(type, tensor, storage);
}

void write_storage(wire::RecordType type, const void* storage, std::uint64_t stack) noexcept {
  write_running_ops();
  const TorchThread* thread = torch_thread();
  const auto ordinal = static_cast<std::uint32_t>(thread != nullptr ? thread->ordinal : 0);
  auto* record = static_cast<wire::StorageRecord*>(agent::begin_record(type, sizeof(wire::StorageRecord), ordinal));
  if (record == nullptr) return;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->data = layout::data_of(storage);
  record->bytes = layout::bytes_of(storage);
  record->stack = stack;
  agent::commit_record(record);
}

/// Surrounds the end of a storage, in which its block is freed.
class StorageEnd {
 public:
  StorageEnd(const void* storage, wire::RecordType type) noexcept {
    if (!agent::recording()) return;
    const std::uint64_t pinned = pinned_block_of(storage);
    const bool followed = follow_end(storage);
    if (followed || pinned != 0) record(storage, type, followed, pinned);
  }
  ~StorageEnd() {
    if (thread_ != nullptr) thread_->ending_block = 0;
  }
  StorageEnd(const StorageEnd&) = delete;
  StorageEnd& operator=(const StorageEnd&) = delete;

 private:
  [[gnu::noinline]] void record(const void* storage, wire::RecordType type, bool followed,
                                std::uint64_t pinned) noexcept {
    agent::Inside inside;
    if (!followed) return end_pinned_block(pinned);
    thread_ = torch_thread();
    const bool with_tensor = thread_ != nullptr && thread_->ending_storage == storage;
    const agent::SharedTime time(with_tensor ? thread_->ending_tsc : 0);
    const std::uint64_t stack = stack_of(storage);
    // Unwatch before the record acquires its sequence: then no later record of another thread has the storage as a
    // key's.
    watched_storage_ends(storage);
    write_storage(type, storage, stack);
    if (thread_ != nullptr) {
      thread_->ending_storage = nullptr;
      thread_->ending_block = layout::data_of(storage);
      thread_->ending_stack = stack;
      thread_->ending_tsc = time.tsc();
    }
    end_pinned_block(pinned);
  }

  TorchThread* thread_ = nullptr;
};

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

void* detach(Detach real, const void** result, const void* tensor, const void* version, bool allow_change) {
  TorchThread* thread = agent::recording() ? torch_thread() : nullptr;
  if (thread == nullptr) return real(result, tensor, version, allow_change);
  void* returned = nullptr;
  {
    const Deeper deeper(thread->in_detach);  // the real function may throw
    returned = real(result, tensor, version, allow_change);
  }
  // A subclass may return a tensor that was born elsewhere and is recorded already.
  if (*result == thread->detached && *result != nullptr) {
    thread->detached = nullptr;
    tensor_born(*result);
  }
  return returned;
}

void* on_detach(const void** result, const void* tensor, const void* version, bool allow_change) {
  return detach(g_detach, result, tensor, version, allow_change);
}

void* on_detach_move(const void** result, const void* tensor, const void* version, bool allow_change) {
  return detach(g_detach_move, result, tensor, version, allow_change);
}

void on_destroy_tensor(void* tensor) {
  tensor_ends(tensor, wire::RecordType::kTensorDeath);
  g_destroy_tensor(tensor);
}

void on_release_tensor(void* tensor) {
  tensor_ends(tensor, wire::RecordType::kTensorRelease);
  g_release_tensor(tensor);
}

void on_delete_storage(void* storage) {
  const StorageEnd end(storage, wire::RecordType::kStorageDeath);
  g_delete_storage(storage);
}

void on_release_storage(void* storage) {
  const StorageEnd end(storage, wire::RecordType::kStorageRelease);
  g_release_storage(storage);
}

void on_delete_functional(void* storage) {
  const StorageEnd end(storage, wire::RecordType::kStorageDeath);
  g_delete_functional(storage);
}

void on_release_functional(void* storage) {
  const StorageEnd end(storage, wire::RecordType::kStorageRelease);
  g_release_functional(storage);
}

/// Surrounds a call that can give a tensor another storage, and may throw.
class Move {
 public:
  explicit Move(const void* tensor) noexcept : tensor_(tensor), before_(layout::storage_of(tensor)) {
    if (!agent::recording()) return;
    // The old storage may end inside the call, so read what is needed of it first.
    was_followed_ = follow_begin(before_);
    agent::Inside inside;
    if (before_ == nullptr) return;
    recorded_ = sharing_remove(tensor_, before_);
    if (recorded_ == BirthRecorded::kNo && storage_is_watched(before_)) {
      // A gather on another thread may be recording it.
      recorded_ = BirthRecorded::kYes;
      was_followed_ = true;
    }
    watched_tensor_moves(tensor_, before_);
  }

  ~Move() {
    if (!agent::recording()) return;
    agent::Inside inside;
    const void* after = layout::storage_of(tensor_);
    if (after != nullptr) sharing_add(tensor_, after, recorded_ != BirthRecorded::kNo);
    if (after == before_ || (!was_followed_ && !follow_begin(after))) return;
    if (after != nullptr) sharing_note_recorded(tensor_, after);
    if (after != nullptr && !follow_begin(after)) watch_small(after);
    record_block_of(after);
    write_repoint(after);
  }

  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;

 private:
  void write_repoint(const void* after) const noexcept {
    const std::uint64_t stack = stack_here();
    write_running_ops();
    auto* record = static_cast<wire::RepointRecord*>(
        agent::begin_record(wire::RecordType::kTensorRepoint, sizeof(wire::RepointRecord), 0));
    if (record == nullptr) return;
    record->tensor = reinterpret_cast<std::uint64_t>(tensor_);
    record->old_storage = reinterpret_cast<std::uint64_t>(before_);
    record->storage = reinterpret_cast<std::uint64_t>(after);
    record->data = layout::data_of(after);
    record->bytes = layout::bytes_of(after);
    record->stack = stack;
    agent::commit_record(record);
  }

  const void* tensor_;
  const void* before_;
  bool was_followed_ = false;
  BirthRecorded recorded_ = BirthRecorded::kNo;
};

void on_copy_from(void* tensor, const void* other) {
  const CycleByFunction function(CycleByFunction::Moved{tensor});
  const Move move(tensor);
  g_copy_from(tensor, other);
}

// Subclasses of TensorImpl copy themselves and each other through these functions; TensorImpl does so inside libc10.
void on_copy_metadata(const void* from, void* tensor, const void* version, bool allow_change) {
  const Move move(tensor);
  g_copy_metadata(from, tensor, version, allow_change);
}

void on_copy_metadata_move(const void* from, void* tensor, const void* version, bool allow_change) {
  const Move move(tensor);
  g_copy_metadata_move(from, tensor, version, allow_change);
}

// `tensor` is an at::Tensor: its only word is the address of the TensorImpl.
void* on_set_cpu(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_cpu(tensor, storage, offset, sizes, strides);
}

void* on_set_cuda(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_cuda(tensor, storage, offset, sizes, strides);
}

void* on_set_meta(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_meta(tensor, storage, offset, sizes, strides);
}

void* on_set_quantized(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_quantized(tensor, storage, offset, sizes, strides);
}

// A storage that exists before any tensor. Storages that torch makes together with a tensor do not use this function.
void* on_make_storage(void** result, const void* bytes, void* data, void* allocator, bool resizable,
                      std::uint32_t device) {
  void* returned = g_make_storage(result, bytes, data, allocator, resizable, device);
  if (agent::recording() && follow_begin(*result)) {
    agent::Inside inside;
    write_storage(wire::RecordType::kStorageBirth, *result, stack_here());
  }
  return returned;
}

void resize(ResizeStorage real, void* storage, std::size_t bytes) {
  const CycleByFunction function(CycleByFunction::Resized{storage});
  const std::uint64_t before = layout::bytes_of(storage);
  const bool was_followed = agent::recording() && follow_begin(storage);
  const std::uint64_t pinned = agent::recording() ? pinned_block_of(storage) : 0;
  {
    const GpuMemoryResize gpu_memory(storage);
    real(storage, bytes);
  }
  if (!agent::recording()) return;
  agent::Inside inside;
  if (layout::data_of(storage) != pinned) end_pinned_block(pinned);
  if (!was_followed && !follow_begin(storage)) return;
  if (!follow_begin(storage)) watch_small(storage);
  if (layout::bytes_of(storage) == 0) watched_storage_empties(storage);
  record_block_of(storage);
  const std::uint64_t stack = stack_here();
  write_running_ops();
  auto* record = static_cast<wire::ResizeRecord*>(
      agent::begin_record(wire::RecordType::kStorageResize, sizeof(wire::ResizeRecord), 0));
  if (record == nullptr) return;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->old_bytes = before;
  record->bytes = layout::bytes_of(storage);
  record->data = layout::data_of(storage);
  record->stack = stack;
  agent::commit_record(record);
}

void on_resize_cpu(void* storage, std::size_t bytes) { resize(g_resize_cpu, storage, bytes); }
void on_resize_cuda(void* storage, std::size_t bytes) { resize(g_resize_cuda, storage, bytes); }

void* on_engine_execute(void* result, void* engine, const void* roots, const void* inputs, bool keep_graph,
                        bool create_graph, bool accumulate, const void* outputs) {
  const BackwardSpan backward;
  return g_engine_execute(result, engine, roots, inputs, keep_graph, create_graph, accumulate, outputs);
}

}  // namespace

void follow_from_now(const void* storage) noexcept {
  if (agent::full_detail()) return;
  SharingSet set;
  sharing_of(storage, set, /*unrecorded_only=*/true);
  const bool small = layout::bytes_of(storage) < kFollowedBytes;
  if (small) record_block_of(storage);
  // For a view, this stack is not that of its birth; for the first tensor of a small storage, it is the best one
  // available.
  const std::uint64_t stack = small && set.count != 0 ? stack_here() : 0;
  for (std::uint32_t i = 0; i < set.count; ++i) {
    const void* tensor = set.tensors[i];
    if (sharing_note_recorded(tensor, storage) != BirthRecorded::kNo) continue;
    write_tensor(wire::RecordType::kTensorBirth, tensor, storage, stack);
    // Another thread may have ended the tensor and recorded that before this birth. A second end does no harm.
    if (!sharing_contains(tensor, storage)) write_tensor(wire::RecordType::kTensorDeath, tensor, storage, 0);
  }
}

namespace {

const ImportPatch kImports[] = {
    {kConstruct4, pointer(on_construct4), "libc10.so"},
    {kConstructViewC1, pointer(on_construct_view), nullptr},
    {kConstructViewC2, pointer(on_construct_view), nullptr},
    {kDestroyD1, pointer(on_destroy_tensor), nullptr},
    {kDestroyD2, pointer(on_destroy_tensor), nullptr},
    {kResizeCpu, pointer(on_resize_cpu), nullptr},
    {kCopyMetadata, pointer(on_copy_metadata), "libtorch_cpu.so"},
    {kCopyMetadataMove, pointer(on_copy_metadata_move), "libtorch_cpu.so"},
    {kSetCpu, pointer(on_set_cpu), nullptr},
    {kSetMeta, pointer(on_set_meta), nullptr},
    {kSetQuantized, pointer(on_set_quantized), nullptr},
    {kMakeStorage, pointer(on_make_storage), nullptr},
    {kEngineExecute, pointer(on_engine_execute), nullptr},
};
const ImportPatch kCudaImports[] = {
    {kResizeCuda, pointer(on_resize_cuda), nullptr},
    {kSetCuda, pointer(on_set_cuda), nullptr},
};

/// If the agent was not preloaded, the imports of dlopen and dlsym show what programs load.
std::span<const ImportPatch> loader_imports() {
  static ImportPatch imports[2];
  static const agent::LoaderFunctions functions = agent::loader_functions_to_import();
  if (functions.open == nullptr) return {};
  imports[0] = {"dlopen", functions.open, nullptr};
  imports[1] = {"dlsym", functions.symbol, nullptr};
  return imports;
}

/// libtorch_cuda once the functions that CUDA's hooks call are available, else nullptr. A program can load torch's CUDA
/// libraries later than the others.
void* cuda_library() {
  static void* cuda = nullptr;
  if (cuda != nullptr) return cuda;
  void* found = loaded_library("libtorch_cuda.so");
  if (found != nullptr && find(found, kResizeCuda, g_resize_cuda) && find(found, kSetCuda, g_set_cuda)) cuda = found;
  return cuda;
}

/// Only one thread at a time changes slots.
constinit std::atomic<bool> g_patching{false};
/// False once the recording has ended: a thread that is still in a hook must not install hooks.
constinit std::atomic<bool> g_may_patch{false};

/// A thread that has just loaded an object will call into it, so it waits for another thread's check, but only for a
/// bounded time.
bool begin_patching() noexcept {
  constexpr int kPatience = 2000;
  constexpr timespec kPause{0, 50'000};
  for (int tries = 0; g_patching.exchange(true, std::memory_order_acquire); ++tries) {
    if (tries == kPatience) return false;
    nanosleep(&kPause, nullptr);
  }
  return true;
}

void end_patching() noexcept { g_patching.store(false, std::memory_order_release); }

}  // namespace

bool install_lifetime_hooks(bool functional, const char** why) noexcept {
  void* c10 = loaded_library("libc10.so");
  void* cpu = loaded_library("libtorch_cpu.so");
  if (c10 == nullptr || cpu == nullptr) {
    *why = "libc10.so or libtorch_cpu.so is not loaded under its usual name";
    return false;
  }
  auto** tensor_table = static_cast<void**>(symbol_in_use(c10, kTensorTable));
  auto** storage_table = static_cast<void**>(symbol_in_use(c10, kStorageTable));
  auto** functional_table = static_cast<void**>(symbol_in_use(cpu, kFunctionalTable));
  auto** engine_table = static_cast<void**>(symbol_in_use(cpu, kEngineTable));
  g_undefined = symbol_in_use(c10, kUndefined);
  const bool found = find(c10, kConstruct4, g_construct4) && find(c10, kConstructViewC1, g_construct_view) &&
                     find(c10, kDestroyD2, g_destroy_tensor) && find_allocators(c10) &&
                     find(cpu, kResizeCpu, g_resize_cpu) && find(c10, kCopyMetadata, g_copy_metadata) &&
                     find(c10, kCopyMetadataMove, g_copy_metadata_move) && find(cpu, kSetCpu, g_set_cpu) &&
                     find(cpu, kSetMeta, g_set_meta) && find(cpu, kSetQuantized, g_set_quantized) &&
                     find(c10, kMakeStorage, g_make_storage) && find(cpu, kEngineExecute, g_engine_execute) &&
                     engine_table != nullptr && engine_table[layout::kEngineSlotExecute] == pointer(g_engine_execute) &&
                     tensor_table != nullptr && storage_table != nullptr && functional_table != nullptr;
  if (!found) {
    *why = "this torch does not export the constructors, destructors or allocator functions that are hooked";
    return false;
  }
  // A slot that another tool has changed since an earlier recording may lead back to our own hook.
  const auto* const earlier = pointer(g_release_tensor);
  if (earlier != nullptr && (tensor_table[layout::kTensorSlotRelease] != earlier ||
                             tensor_table[layout::kTensorSlotDetach] != pointer(g_detach) ||
                             tensor_table[layout::kTensorSlotDetachMove] != pointer(g_detach_move) ||
                             tensor_table[layout::kTensorSlotCopyFrom] != pointer(g_copy_from) ||
                             storage_table[layout::kStorageSlotDelete] != pointer(g_delete_storage) ||
                             storage_table[layout::kStorageSlotRelease] != pointer(g_release_storage))) {
    *why = "another tool has changed torch's virtual tables since it was recorded before";
    return false;
  }
  g_release_tensor = reinterpret_cast<OneObject>(tensor_table[layout::kTensorSlotRelease]);
  g_detach = reinterpret_cast<Detach>(tensor_table[layout::kTensorSlotDetach]);
  g_detach_move = reinterpret_cast<Detach>(tensor_table[layout::kTensorSlotDetachMove]);
  g_copy_from = reinterpret_cast<CopyFrom>(tensor_table[layout::kTensorSlotCopyFrom]);
  g_delete_storage = reinterpret_cast<OneObject>(storage_table[layout::kStorageSlotDelete]);
  g_release_storage = reinterpret_cast<OneObject>(storage_table[layout::kStorageSlotRelease]);
  g_delete_functional = reinterpret_cast<OneObject>(functional_table[layout::kStorageSlotDelete]);
  g_release_functional = reinterpret_cast<OneObject>(functional_table[layout::kStorageSlotRelease]);
  const bool patched =
      patch_slot(tensor_table, layout::kTensorSlotRelease, pointer(on_release_tensor)) &&
      patch_slot(tensor_table, layout::kTensorSlotDetach, pointer(on_detach)) &&
      patch_slot(tensor_table, layout::kTensorSlotDetachMove, pointer(on_detach_move)) &&
      patch_slot(tensor_table, layout::kTensorSlotCopyFrom, pointer(on_copy_from)) &&
      patch_slot(storage_table, layout::kStorageSlotDelete, pointer(on_delete_storage)) &&
      patch_slot(storage_table, layout::kStorageSlotRelease, pointer(on_release_storage)) &&
      (!functional || (patch_slot(functional_table, layout::kStorageSlotDelete, pointer(on_delete_functional)) &&
                       patch_slot(functional_table, layout::kStorageSlotRelease, pointer(on_release_functional)))) &&
      patch_slot(engine_table, layout::kEngineSlotExecute, pointer(on_engine_execute));
  if (!patched) {
    *why = "the virtual tables of torch's objects cannot be written";
    return false;
  }
  g_may_patch.store(true, std::memory_order_release);
  if (patch_new_objects() == 0) {
    *why = "no import slot of torch's libraries could be redirected";
    return false;
  }
  if (!agent::gate_open()) {
    // Other threads are running: a thread that was binding a slot at that time has overwritten our hook.
    constexpr timespec kUntilBound{0, 10'000'000};
    nanosleep(&kUntilBound, nullptr);
    elf::inspect_all_again();
    patch_new_objects();
  }
  return true;
}

void remove_lifetime_hooks() noexcept {
  g_may_patch.store(false, std::memory_order_release);
  const bool alone = begin_patching();
  elf::undo();
  if (alone) end_patching();
}

std::size_t patch_new_objects() noexcept {
  if (!begin_patching()) {
    agent::note_objects_changed();
    return 0;
  }
  if (!g_may_patch.load(std::memory_order_acquire)) {
    end_patching();
    return 0;
  }
  std::span<const ImportPatch> groups[] = {kImports, allocator_imports(), user_scope_imports(), loader_imports(), {},
                                           {}};
  if (void* cuda = cuda_library(); cuda != nullptr) {
    groups[4] = kCudaImports;
    groups[5] = block_owner_imports(cuda);
    follow_pinned_blocks();
  }
  const elf::Patched patched = elf::patch_imports(groups);
  if (patched.postponed) agent::note_objects_changed();
  if (patched.given_up != nullptr) {
    char text[512];
    snprintf(text, sizeof text, "%s was never seen loaded to the end, so what it does with tensors is not seen",
             patched.given_up);
    agent::diagnose(wire::DiagnosticCode::kNote, text);
  }
  end_patching();
  follow_cuda_allocator();
  return patched.written;
}

}  // namespace dcmt::torch_provider
