#include "collector/torch/records/gpu_memory.h"

#include <algorithm>
#include <string_view>

#include "collector/agent/provider.h"
#include "collector/torch/records/key_reads.h"
#include "collector/torch/state/storage_copy.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {

void watch_gpu_memory(const void* storage, const StorageCopy& copy) noexcept {
  if (copy.bytes() == 0 || !copy.is_on_gpu() || agent::cuda_provider() == nullptr) return;
  agent::unwatch_range(storage);  // another key of the storage was released before
  if (!agent::watch_range(storage, copy.data(), copy.bytes())) {
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "too many released storages are alive: kernels are seen for some only");
  }
}

void watch_gpu_memory_in_use(const void* storage) noexcept {
  if (storage == nullptr || !agent::full_detail()) return;
  const StorageCopy copy(storage);
  watch_gpu_memory(storage, copy);
  expect_gpu_touches(copy);
}

void unwatch_gpu_memory(const void* storage) noexcept {
  if (agent::unwatch_range(storage)) write_launches();
}

GpuMemoryResize::GpuMemoryResize(const void* storage) noexcept
    : storage_(storage), was_watched_(agent::unwatch_range(storage)) {}

GpuMemoryResize::~GpuMemoryResize() {
  if (!was_watched_ || !agent::recording()) return;
  const agent::Inside inside;
  write_launches();
  watch_gpu_memory(storage_, StorageCopy(storage_));
}

void expect_gpu_touches(const StorageCopy& storage) noexcept {
  const agent::CudaProvider* cuda = agent::cuda_provider();
  if (cuda != nullptr && storage.is_on_gpu()) cuda->watch_calls();
}

void write_launches() noexcept {
  const agent::CudaProvider* cuda = agent::cuda_provider();
  if (cuda != nullptr) cuda->write_launches();
}

namespace {

/// Kernels of torch get structures whose unused fields have old stack content, including addresses of other tensors.
/// The data of an operator of torch is among its arguments, or was made inside it.
bool is_left_over(const RunningOp* op, const void* storage) noexcept {
  if (op == nullptr || !op->inputs_known || !std::string_view(op->name).starts_with("aten::")) return false;
  const auto* end = op->watched + op->watched_count;
  return std::find(op->watched, end, storage) == end;
}

}  // namespace

std::uint64_t stack_of_gpu_call() noexcept {
  const std::uint64_t stack = stack_here();
  write_running_ops();
  return stack;
}

void gpu_touch(const void* storage, std::uint64_t bytes, const char* name) noexcept {
  TorchThread* thread = torch_thread();
  // Launches inside gather, wait and release operators do not count.
  if (thread == nullptr || thread->in_cycle_op != 0) return;
  kernel_touches(storage, bytes, name, thread->ordinal, is_left_over(innermost_op(*thread), storage));
}

}  // namespace dcmt::torch_provider
