// A death is stamped before the real call, a birth after it.
#include "collector/torch/hooks/storage_hooks.h"

#include <cstddef>
#include <exception>

#include "collector/agent/provider.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/symbols.h"
#include "collector/torch/hooks/pinned_hooks.h"
#include "collector/torch/keys/function_cycles.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/records/block_records.h"
#include "collector/torch/records/followed_storages.h"
#include "collector/torch/records/gpu_memory.h"
#include "collector/torch/state/pinned_blocks.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

using elf::find;
using elf::ImportPatch;
using elf::patch_slot;
using elf::pointer;

using OneObject = void (*)(void*);
/// Says which function is meant. It is an argument without a content, which takes a register on aarch64.
struct Tag {};
/// Returns an intrusive_ptr<StorageImpl>; size and data are passed by reference.
using MakeStorage = elf::HiddenResult (*)(Tag, const void*, void*, void*, bool, std::uint32_t);
using ResizeStorage = void (*)(void*, std::size_t);

void** g_storage_table;
void** g_functional_table;
MakeStorage g_make_storage;
OneObject g_delete_storage;
OneObject g_release_storage;
OneObject g_delete_functional;
OneObject g_release_functional;
ResizeStorage g_resize_cpu;
void* g_resize_cuda;  ///< a ResizeStorage

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
    if (watching_counts()) counted_storage_ends(storage);
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

// A storage that exists before any tensor. Storages that torch makes together with a tensor do not use this function.
elf::HiddenResult on_make_storage(Tag tag, const void* bytes, void* data, void* allocator, bool resizable,
                                  std::uint32_t device) {
  return elf::HiddenResult([&](void* at) {
    elf::call_into(at, g_make_storage, tag, bytes, data, allocator, resizable, device);
    const void* const storage = *static_cast<void**>(at);
    if (agent::recording() && follow_begin(storage)) {
      agent::Inside inside;
      write_storage(wire::RecordType::kStorageBirth, storage, stack_here());
    }
  });
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
void on_resize_cuda(void* storage, std::size_t bytes) {
  resize(reinterpret_cast<ResizeStorage>(g_resize_cuda), storage, bytes);
}

const ImportPatch kImports[] = {
    {kResizeCpu, pointer(on_resize_cpu), nullptr},
    {kMakeStorage, pointer(on_make_storage), nullptr},
};
const CudaImport kCudaImports[] = {{kResizeCuda, pointer(on_resize_cuda), &g_resize_cuda}};

}  // namespace

bool find_storages(void* c10, void* cpu) noexcept {
  g_storage_table = static_cast<void**>(elf::symbol_in_use(c10, kStorageTable));
  g_functional_table = static_cast<void**>(elf::symbol_in_use(cpu, kFunctionalTable));
  return find(cpu, kResizeCpu, g_resize_cpu) && find(c10, kMakeStorage, g_make_storage) && g_storage_table != nullptr &&
         g_functional_table != nullptr;
}

bool storage_table_is_ours_alone() noexcept {
  return g_release_storage == nullptr || (g_storage_table[layout::kStorageSlotDelete] == pointer(g_delete_storage) &&
                                          g_storage_table[layout::kStorageSlotRelease] == pointer(g_release_storage));
}

bool hook_storages(bool functional) noexcept {
  g_delete_storage = reinterpret_cast<OneObject>(g_storage_table[layout::kStorageSlotDelete]);
  g_release_storage = reinterpret_cast<OneObject>(g_storage_table[layout::kStorageSlotRelease]);
  g_delete_functional = reinterpret_cast<OneObject>(g_functional_table[layout::kStorageSlotDelete]);
  g_release_functional = reinterpret_cast<OneObject>(g_functional_table[layout::kStorageSlotRelease]);
  return patch_slot(g_storage_table, layout::kStorageSlotDelete, pointer(on_delete_storage)) &&
         patch_slot(g_storage_table, layout::kStorageSlotRelease, pointer(on_release_storage)) &&
         (!functional || (patch_slot(g_functional_table, layout::kStorageSlotDelete, pointer(on_delete_functional)) &&
                          patch_slot(g_functional_table, layout::kStorageSlotRelease, pointer(on_release_functional))));
}

bool empty_storage(const void* storage) noexcept {
  try {
    void* const object = const_cast<void*>(storage);
    if (layout::is_on_gpu(storage) && g_resize_cuda == nullptr) return false;
    layout::is_on_gpu(storage) ? on_resize_cuda(object, 0) : on_resize_cpu(object, 0);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::span<const ImportPatch> storage_imports() noexcept { return kImports; }
std::span<const CudaImport> storage_cuda_imports() noexcept { return kCudaImports; }

}  // namespace dcmt::torch_provider
