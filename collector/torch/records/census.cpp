#include "collector/torch/records/census.h"

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/state/sharing_set.h"
#include "collector/torch/state/storage_copy.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

constinit std::atomic<std::uint64_t> g_next_census{1};
std::uint64_t g_view_table;  ///< the first word of every DifferentiableViewMeta

/// The fields of a tensor, from one copy.
struct TensorFacts {
  std::uint64_t count = 0;
  std::uint64_t python_object = 0;
  std::uint64_t python_count = 0;
  std::uint64_t elements = 0;
  std::uint64_t offset = 0;
  std::uint64_t base = 0;
  bool on_storage = false;  ///< false: it ended or moved during the census
};

/// The counts that must not change during the census.
struct Counts {
  std::uint64_t storage = 0;
  TensorFacts tensors[SharingSet::kCapacity];
};

/// The tensor that a view keeps for autograd; 0 if the tensor is no such view.
std::uint64_t base_of(const void* autograd) noexcept {
  char copy[layout::kViewBytes];
  if (autograd == nullptr || !read_memory(autograd, copy, sizeof copy)) return 0;
  const bool is_view = layout::word(copy, 0) == g_view_table && copy[layout::kViewHasBase] == 1;
  return is_view ? layout::word(copy, layout::kViewBase) : 0;
}

/// Other threads may end tensors meanwhile. So memory is read through the kernel, and the copy is used only if the
/// tensor is still in the sharing table afterwards.
TensorFacts read_tensor(const void* tensor, const void* storage) noexcept {
  TensorFacts facts;
  char copy[layout::kTensorBytes];
  if (!read_memory(tensor, copy, sizeof copy)) return facts;
  facts.count = layout::strong_count(copy);
  facts.python_object = layout::word(copy, layout::kTensorPyObject);
  facts.elements = layout::word(copy, layout::kTensorElements);
  facts.offset = layout::word(copy, layout::kTensorOffset);
  facts.base = base_of(reinterpret_cast<const void*>(layout::word(copy, layout::kTensorAutograd)));
  // ob_refcnt is the first word of every Python object.
  const auto* object = reinterpret_cast<const void*>(facts.python_object);
  if (object != nullptr && !read_memory(object, &facts.python_count, sizeof facts.python_count)) return facts;
  facts.on_storage = layout::storage_of(copy) == storage && sharing_contains(tensor, storage);
  return facts;
}

/// Subtracts the references that torch itself holds because it has boxed the tensor for callbacks.
void leave_out_boxed(const void* tensor, TensorFacts& facts) noexcept {
  const TorchThread* thread = torch_thread();
  std::uint64_t boxed = 0;
  for (std::uint32_t i = 0; thread != nullptr && i < thread->boxed_count; ++i) boxed += thread->boxed[i] == tensor;
  if (boxed == 0 || facts.count <= boxed) return;
  facts.count -= boxed;
  // If a tensor has one reference more than its Python object's own, it keeps that object by one reference.
  if (facts.count == 1 && facts.python_count > 0) --facts.python_count;
}

void read_counts(const void* storage, const StorageCopy& copy, const SharingSet& set, Counts& out) noexcept {
  out.storage = copy.strong_count();
  for (std::uint32_t i = 0; i < set.count; ++i) {
    out.tensors[i] = read_tensor(set.tensors[i], storage);
    leave_out_boxed(set.tensors[i], out.tensors[i]);
  }
}

bool equal(const Counts& a, const Counts& b, std::uint32_t tensors) noexcept {
  if (a.storage != b.storage) return false;
  for (std::uint32_t i = 0; i < tensors; ++i) {
    const TensorFacts& x = a.tensors[i];
    const TensorFacts& y = b.tensors[i];
    if (x.on_storage != y.on_storage || x.count != y.count || x.python_count != y.python_count) return false;
  }
  return true;
}

void write_census(wire::RecordType type, std::uint32_t aux, std::uint64_t census, const void* storage,
                  const StorageCopy& copy, KeyIndex key, std::uint64_t stack) noexcept {
  auto* record = static_cast<wire::CensusRecord*>(agent::begin_record(type, sizeof(wire::CensusRecord), aux));
  if (record == nullptr) return;
  const TorchThread* thread = torch_thread();
  record->census = census;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->bytes = copy.bytes();
  const KeyName name = key != 0 ? key_at(key).name : KeyName{0, 0};
  record->graph = name.graph;
  record->key = name.key;
  record->count = copy.strong_count();
  record->python_object = copy.python_object();
  record->stack = stack;
  record->ordinal = thread != nullptr ? thread->ordinal : 0;
  agent::commit_record(record);
}

void write_tensor(std::uint64_t census, const void* tensor, const TensorFacts& facts) noexcept {
  auto* record = static_cast<wire::CensusTensorRecord*>(agent::begin_record(
      wire::RecordType::kCensusTensor, sizeof(wire::CensusTensorRecord), facts.offset != 0 ? 1 : 0));
  if (record == nullptr) return;
  record->census = census;
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->count = facts.count;
  record->python_object = facts.python_object;
  record->python_count = facts.python_count;
  record->elements = facts.elements;
  record->offset = facts.offset;
  record->base = facts.base;
  agent::commit_record(record);
}

}  // namespace

bool prepare_census() noexcept {
  void* cpu = elf::loaded_library("libtorch_cpu.so");
  void* const* table =
      cpu != nullptr
          ? static_cast<void* const*>(elf::symbol_in_use(cpu, "_ZTVN5torch8autograd22DifferentiableViewMetaE"))
          : nullptr;
  if (table == nullptr) return false;
  g_view_table = reinterpret_cast<std::uint64_t>(table + layout::kTableFunctions);
  return true;
}

void run_census(wire::CensusTrigger trigger, const void* storage, KeyIndex key) noexcept {
  const StorageCopy first(storage);
  if (!first.readable) return;
  const agent::PythonProvider* python = agent::python_provider();
  std::uint64_t module = 0;
  const std::uint64_t stack = agent::stack_of_thread(&module);
  const std::uint64_t census = g_next_census.fetch_add(1, std::memory_order_relaxed);

  SharingSet set;
  sharing_of(storage, set);
  Counts before{};
  read_counts(storage, first, set, before);

  write_census(wire::RecordType::kCensusBegin, static_cast<std::uint32_t>(trigger), census, storage, first, key, stack);
  std::uint64_t objects[SharingSet::kCapacity + 1];
  std::uint32_t object_count = 0;
  for (std::uint32_t i = 0; i < set.count; ++i) {
    const TensorFacts& facts = before.tensors[i];
    if (!facts.on_storage) continue;
    write_tensor(census, set.tensors[i], facts);
    if (facts.python_object != 0) objects[object_count++] = facts.python_object;
  }
  if (first.python_object() != 0) objects[object_count++] = first.python_object();

  agent::LocalsReach reach;
  if (python != nullptr && object_count != 0) reach = python->visit_locals(census, objects, object_count, true);

  Counts after{};
  const StorageCopy last(storage);
  read_counts(storage, last, set, after);
  const bool ended = key != 0 && storage_of_key(key) != storage;
  std::uint32_t flags = 0;
  if (ended || !equal(before, after, set.count)) flags |= wire::kCensusUnstable;
  if (reach.other_threads_unseen) flags |= wire::kCensusOtherThreads;
  if (set.maybe_incomplete) flags |= wire::kCensusSharingLossy;
  write_census(wire::RecordType::kCensusEnd, flags, census, storage, last, key, 0);
}

}  // namespace dcmt::torch_provider
