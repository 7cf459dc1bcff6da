#include "collector/torch/torch_thread.h"

#include <string.h>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

TorchThread* torch_thread() noexcept {
  void*& slot = agent::torch_thread_slot();
  if (slot == nullptr) slot = agent::arena(sizeof(TorchThread));
  return static_cast<TorchThread*>(slot);
}

void write_running_ops() noexcept {
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  const std::uint32_t known = thread->depth < TorchThread::kMaxDepth ? thread->depth : TorchThread::kMaxDepth;
  for (; thread->written < known; ++thread->written) {
    RunningOp& op = thread->running[thread->written];
    const std::uint64_t name = agent::intern(op.name, strlen(op.name));
    auto* record =
        static_cast<wire::OpRecord*>(agent::begin_record(wire::RecordType::kOpBegin, sizeof(wire::OpRecord), op.scope));
    if (record == nullptr) return;
    record->name = name;
    record->ordinal = op.ordinal;
    agent::commit_record(record);
  }
}

}  // namespace dcmt::torch_provider
