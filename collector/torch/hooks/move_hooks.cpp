#include "collector/torch/hooks/move_hooks.h"

#include <cstddef>
#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/symbols.h"
#include "collector/torch/keys/function_cycles.h"
#include "collector/torch/keys/reference_watch.h"
#include "collector/torch/records/block_records.h"
#include "collector/torch/records/followed_storages.h"
#include "collector/torch/records/key_reads.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

using elf::find;
using elf::ImportPatch;
using elf::pointer;

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

void** g_tensor_table;
CopyFrom g_copy_from;
CopyMetadata g_copy_metadata;
CopyMetadata g_copy_metadata_move;
SetStorage g_set_cpu;
void* g_set_cuda;  ///< a SetStorage
SetStorage g_set_meta;
SetStorage g_set_quantized;

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
    if (watching_counts() && after != before_) {
      counted_tensor_ends(tensor_);
      counted_tensor_joins(after);
    }
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
  return reinterpret_cast<SetStorage>(g_set_cuda)(tensor, storage, offset, sizes, strides);
}

void* on_set_meta(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_meta(tensor, storage, offset, sizes, strides);
}

void* on_set_quantized(void* tensor, void* storage, std::int64_t offset, Span sizes, Span strides) {
  const Move move(reinterpret_cast<const void*>(layout::word(tensor, 0)));
  return g_set_quantized(tensor, storage, offset, sizes, strides);
}

const ImportPatch kImports[] = {
    {kCopyMetadata, pointer(on_copy_metadata), "libtorch_cpu.so"},
    {kCopyMetadataMove, pointer(on_copy_metadata_move), "libtorch_cpu.so"},
    {kSetCpu, pointer(on_set_cpu), nullptr},
    {kSetMeta, pointer(on_set_meta), nullptr},
    {kSetQuantized, pointer(on_set_quantized), nullptr},
};
const CudaImport kCudaImports[] = {{kSetCuda, pointer(on_set_cuda), &g_set_cuda}};

}  // namespace

bool find_moves(void* c10, void* cpu) noexcept {
  g_tensor_table = static_cast<void**>(elf::symbol_in_use(c10, kTensorTable));
  return find(c10, kCopyMetadata, g_copy_metadata) && find(c10, kCopyMetadataMove, g_copy_metadata_move) &&
         find(cpu, kSetCpu, g_set_cpu) && find(cpu, kSetMeta, g_set_meta) &&
         find(cpu, kSetQuantized, g_set_quantized) && g_tensor_table != nullptr;
}

bool move_slot_is_ours_alone() noexcept {
  return g_copy_from == nullptr || g_tensor_table[layout::kTensorSlotCopyFrom] == pointer(g_copy_from);
}

bool hook_moves() noexcept {
  g_copy_from = reinterpret_cast<CopyFrom>(g_tensor_table[layout::kTensorSlotCopyFrom]);
  return elf::patch_slot(g_tensor_table, layout::kTensorSlotCopyFrom, pointer(on_copy_from));
}

std::span<const ImportPatch> move_imports() noexcept { return kImports; }
std::span<const CudaImport> move_cuda_imports() noexcept { return kCudaImports; }

}  // namespace dcmt::torch_provider
