#include "collector/torch/torch_thread.h"

#include <string.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/known_blocks.h"

namespace dcmt::torch_provider {

namespace {
// States of threads that have ended. A few are enough: threads come and go by handfuls.
constinit std::atomic<TorchThread*> g_spare[64];
}  // namespace

TorchThread* take_torch_thread() noexcept {
  void*& slot = agent::torch_thread_slot();
  agent::follow_thread_end();
  for (auto& spare : g_spare) {
    if (spare.load(std::memory_order_relaxed) == nullptr) continue;
    TorchThread* thread = spare.exchange(nullptr, std::memory_order_acquire);
    if (thread == nullptr) continue;
    *thread = {};
    slot = thread;
    return thread;
  }
  slot = agent::arena(sizeof(TorchThread));
  return static_cast<TorchThread*>(slot);
}

void give_back_torch_thread() noexcept {
  void*& slot = agent::torch_thread_slot();
  auto* thread = static_cast<TorchThread*>(slot);
  slot = nullptr;
  if (thread != nullptr) give_back_recent_blocks(thread->recent_blocks);
  for (auto& spare : g_spare) {
    TorchThread* empty = nullptr;
    if (thread != nullptr && spare.compare_exchange_strong(empty, thread, std::memory_order_release)) return;
  }
}

std::uint64_t stack_here() noexcept {
  TorchThread* thread = torch_thread();
  if (thread == nullptr || thread->depth == 0 || thread->depth > TorchThread::kMaxDepth) return agent::python_stack();
  const void* frame = agent::python_frame();
  std::uint32_t outermost = thread->depth;
  while (outermost > 0 && thread->running[outermost - 1].frame == frame) --outermost;
  if (frame == nullptr || outermost == thread->depth) return agent::python_stack();
  RunningOp& op = thread->running[outermost];
  if (!op.stack_known) {
    op.stack = agent::python_stack();
    op.stack_known = true;
  }
  return op.stack;
}

void begin_op(TorchThread& thread, const void* function, const char* name, wire::OpScope scope) noexcept {
  ++thread.ordinal;
  if (thread.depth < TorchThread::kMaxDepth) {
    // The frame that opens a scope of its own goes on inside of it.
    const void* frame = scope != wire::OpScope::kUser ? agent::python_frame() : nullptr;
    RunningOp& op = thread.running[thread.depth];
    op.function = function;
    op.name = name;
    op.ordinal = thread.ordinal;
    op.scope = static_cast<std::uint32_t>(scope);
    op.stack_known = false;
    op.frame = frame;
    op.inputs_known = false;
  }
  ++thread.depth;
}

void end_op(TorchThread& thread, std::uint32_t at) noexcept {
  thread.depth = at;
  if (at >= thread.written) return;
  thread.written = at;
  auto* record = static_cast<wire::OpRecord*>(agent::begin_record(wire::RecordType::kOpEnd, sizeof(wire::OpRecord), 0));
  if (record == nullptr) return;
  record->name = 0;
  record->ordinal = thread.running[at].ordinal;
  agent::commit_record(record);
}

bool end_op_of(TorchThread& thread, const void* function) noexcept {
  if (thread.depth > TorchThread::kMaxDepth) {
    --thread.depth;
    return true;
  }
  for (std::uint32_t at = thread.depth; at-- > 0;) {
    if (thread.running[at].function != function) continue;
    end_op(thread, at);
    return true;
  }
  return false;
}

void write_ops_not_written(TorchThread& thread) noexcept {
  const std::uint32_t known = thread.depth < TorchThread::kMaxDepth ? thread.depth : TorchThread::kMaxDepth;
  for (; thread.written < known; ++thread.written) {
    RunningOp& op = thread.running[thread.written];
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
