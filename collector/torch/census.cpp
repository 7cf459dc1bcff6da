#include "collector/torch/census.h"

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/layout.h"
#include "collector/torch/sharing_set.h"
#include "collector/torch/tensor_shape.h"
#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

constinit std::atomic<std::uint64_t> g_next_census{1};

/// The counts that must not change while we look.
struct Counts {
  std::uint64_t storage;
  std::uint64_t tensors[SharingSet::kCapacity];
  std::uint64_t objects[SharingSet::kCapacity];
};

void read_counts(const void* storage, const SharingSet& set, Counts& out) noexcept {
  out.storage = layout::strong_count(storage);
  for (std::uint32_t i = 0; i < set.count; ++i) {
    out.tensors[i] = layout::strong_count(set.tensors[i]);
    const auto object = layout::word(set.tensors[i], layout::kTensorPyObject);
    // ob_refcnt is the first word of every Python object.
    out.objects[i] = object != 0 ? *reinterpret_cast<const std::uint64_t*>(object) : 0;
  }
}

bool equal(const Counts& a, const Counts& b, std::uint32_t tensors) noexcept {
  if (a.storage != b.storage) return false;
  for (std::uint32_t i = 0; i < tensors; ++i) {
    if (a.tensors[i] != b.tensors[i] || a.objects[i] != b.objects[i]) return false;
  }
  return true;
}

void write_census(wire::RecordType type, std::uint32_t aux, std::uint64_t census, const void* storage,
                  std::int64_t graph, std::int64_t key, std::uint64_t count, std::uint64_t stack) noexcept {
  auto* record = static_cast<wire::CensusRecord*>(agent::begin_record(type, sizeof(wire::CensusRecord), aux));
  if (record == nullptr) return;
  const TorchThread* thread = torch_thread();
  record->census = census;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->bytes = layout::bytes_of(storage);
  record->graph = graph;
  record->key = key;
  record->count = count;
  record->python_object = layout::word(storage, layout::kStoragePyObject);
  record->stack = stack;
  record->ordinal = thread != nullptr ? thread->ordinal : 0;
  agent::commit_record(record);
}

void write_tensor(std::uint64_t census, const void* tensor, std::uint64_t count, std::uint64_t python_count) noexcept {
  const TensorShape shape = tensor_shape(tensor);
  auto* record = static_cast<wire::CensusTensorRecord*>(agent::begin_record(
      wire::RecordType::kCensusTensor, sizeof(wire::CensusTensorRecord), shape.offset != 0 ? 1 : 0));
  if (record == nullptr) return;
  record->census = census;
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->count = count;
  record->python_object = layout::word(tensor, layout::kTensorPyObject);
  record->python_count = python_count;
  record->elements = shape.elements;
  record->offset = shape.offset;
  agent::commit_record(record);
}

}  // namespace

void take_census(wire::CensusTrigger trigger, const void* storage, std::int64_t graph, std::int64_t key) noexcept {
  const agent::PythonProvider* python = agent::python_provider();
  const std::uint64_t stack = python != nullptr ? python->capture_stack() : 0;
  const std::uint64_t census = g_next_census.fetch_add(1, std::memory_order_relaxed);

  SharingSet set;
  sharing_of(storage, set);
  Counts before{};
  read_counts(storage, set, before);

  write_census(wire::RecordType::kCensusBegin, static_cast<std::uint32_t>(trigger), census, storage, graph, key,
               before.storage, stack);
  std::uint64_t objects[SharingSet::kCapacity + 1];
  std::uint32_t object_count = 0;
  for (std::uint32_t i = 0; i < set.count; ++i) {
    write_tensor(census, set.tensors[i], before.tensors[i], before.objects[i]);
    const auto object = layout::word(set.tensors[i], layout::kTensorPyObject);
    if (object != 0) objects[object_count++] = object;
  }
  if (const auto object = layout::word(storage, layout::kStoragePyObject); object != 0) {
    objects[object_count++] = object;
  }

  agent::LocalsReach reach;
  if (python != nullptr && object_count != 0) reach = python->visit_locals(census, objects, object_count, true);

  Counts after{};
  read_counts(storage, set, after);
  std::uint32_t flags = 0;
  if (!equal(before, after, set.count)) flags |= wire::kCensusUnstable;
  if (reach.other_threads_unseen) flags |= wire::kCensusOtherThreads;
  if (set.maybe_incomplete) flags |= wire::kCensusSharingLossy;
  write_census(wire::RecordType::kCensusEnd, flags, census, storage, graph, key, after.storage, 0);
}

}  // namespace dcmt::torch_provider
