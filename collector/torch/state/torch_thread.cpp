#include "collector/torch/state/torch_thread.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "collector/agent/provider.h"
#include "collector/torch/state/known_blocks.h"
#include "trace/arch/arch.h"

namespace dcmt::torch_provider {

namespace {

/// A stack of the states of threads that have ended. The word has the address of the top state and a counter, which
/// changes when a state is removed and added again. Addresses are multiples of 64.
constinit std::atomic<std::uint64_t> g_spare{0};
constexpr unsigned kAlignBits = 6;
constexpr unsigned kCountBits = 64 - (arch::kAddressBits - kAlignBits);
constexpr std::uint64_t kCounts = (std::uint64_t{1} << kCountBits) - 1;

TorchThread* uppermost(std::uint64_t spare) noexcept {
  return reinterpret_cast<TorchThread*>(spare >> kCountBits << kAlignBits);
}
std::uint64_t with_uppermost(std::uint64_t spare, TorchThread* thread) noexcept {
  return reinterpret_cast<std::uint64_t>(thread) >> kAlignBits << kCountBits | ((spare + 1) & kCounts);
}

TorchThread* acquire_spare() noexcept {
  std::uint64_t spare = g_spare.load(std::memory_order_acquire);
  while (TorchThread* const thread = uppermost(spare)) {
    // Another thread may have removed the state and use it already: then the exchange fails.
    TorchThread* const next = __atomic_load_n(&thread->next_spare, __ATOMIC_RELAXED);
    if (g_spare.compare_exchange_weak(spare, with_uppermost(spare, next), std::memory_order_acquire)) return thread;
  }
  return nullptr;
}

void give_to_spare(TorchThread* thread) noexcept {
  std::uint64_t spare = g_spare.load(std::memory_order_relaxed);
  do {
    __atomic_store_n(&thread->next_spare, uppermost(spare), __ATOMIC_RELAXED);
  } while (!g_spare.compare_exchange_weak(spare, with_uppermost(spare, thread), std::memory_order_release));
}

/// All states, for op_with_input(). Those of more threads are not searched.
constinit std::atomic<TorchThread*> g_states[1024];
constinit std::atomic<std::uint32_t> g_states_count{0};

/// A word of another thread's state, which that thread may change.
template <class Word>
Word word(const Word& of) noexcept {
  return __atomic_load_n(&of, __ATOMIC_ACQUIRE);
}

bool has_input(const RunningOp& op, const void* storage) noexcept {
  const std::uint32_t count = std::min(word(op.watched_count), RunningOp::kMostWatched);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (word(op.watched[i]) == storage) return true;
  }
  return false;
}

}  // namespace

bool op_with_input(const void* storage, RunningOp& out) noexcept {
  const std::uint32_t count = std::min<std::uint32_t>(g_states_count.load(), std::size(g_states));
  for (std::uint32_t i = 0; i < count; ++i) {
    TorchThread* thread = g_states[i].load();
    const std::uint32_t depth = thread != nullptr ? word(thread->depth) : 0;
    if (depth == 0 || depth > TorchThread::kMaxDepth) continue;
    RunningOp& op = thread->running[depth - 1];
    // The name of an operator, unlike that of a range, is torch's for ever.
    if (word(op.scope) != static_cast<std::uint32_t>(wire::OpScope::kFunction) || !has_input(op, storage)) continue;
    out.name = word(op.name);
    out.ordinal = word(op.ordinal);
    out.stack = word(op.stack_known) ? word(op.stack) : 0;
    if (word(thread->depth) == depth && word(op.ordinal) == out.ordinal) return true;
  }
  return false;
}

void empty_torch_threads(void (*empty_tables)()) noexcept {
  // The list of spare states is inside the states. States beyond this array are not kept.
  static constinit TorchThread* spare[1024] = {};
  std::size_t count = 0;
  while (count < std::size(spare) && (spare[count] = acquire_spare()) != nullptr) ++count;
  empty_tables();
  while (count > 0) give_to_spare(spare[--count]);
}

TorchThread* acquire_torch_thread() noexcept {
  void*& slot = agent::torch_thread_slot();
  agent::follow_thread_end();
  if (TorchThread* const thread = acquire_spare(); thread != nullptr) {
    *thread = {};
    slot = thread;
    return thread;
  }
  auto* const thread = static_cast<TorchThread*>(agent::arena(sizeof(TorchThread)));
  slot = thread;
  if (thread == nullptr) return nullptr;
  if (const std::uint32_t at = g_states_count.fetch_add(1); at < std::size(g_states)) g_states[at].store(thread);
  return thread;
}

void give_back_torch_thread() noexcept {
  void*& slot = agent::torch_thread_slot();
  auto* thread = static_cast<TorchThread*>(slot);
  slot = nullptr;
  if (thread == nullptr) return;
  give_back_recent_blocks(thread->recent_blocks);
  give_to_spare(thread);
}

void add_operator_memory(TorchThread& thread, std::uint64_t begin, std::uint64_t bytes) noexcept {
  RunningOp* op = innermost_op(thread);
  if (op == nullptr || !op->memory_known) return;
  if (thread.memory_count == TorchThread::kMaxMemory) {
    op->memory_known = false;
  } else {
    thread.memory[thread.memory_count++] = {begin, begin + bytes};
  }
}

agent::ArgumentOf argument_of(std::uint64_t address) noexcept {
  TorchThread* thread = torch_thread();
  const RunningOp* op = thread != nullptr ? innermost_op(*thread) : nullptr;
  if (op == nullptr || !op->memory_known) return agent::ArgumentOf::kUnknown;
  const auto has_it = [address](const OperatorMemory& memory) {
    return memory.begin <= address && address < memory.end;
  };
  const OperatorMemory* memory = thread->memory;
  if (std::any_of(memory + op->first_memory, memory + thread->memory_count, has_it)) {
    return agent::ArgumentOf::kOperator;
  }
  // Kernels of torch get structures whose unused fields have old stack content, including addresses of other tensors.
  const bool is_of_torch = strncmp(op->name, "aten::", strlen("aten::")) == 0;
  return is_of_torch ? agent::ArgumentOf::kNothing : agent::ArgumentOf::kUnknown;
}

std::uint64_t stack_here() noexcept {
  TorchThread* thread = torch_thread();
  std::uint64_t unused = 0;
  if (thread == nullptr) return agent::stack_of_thread(&unused);
  if (thread->depth == 0 || thread->depth > TorchThread::kMaxDepth) return agent::stack_of_thread(&thread->module);
  const void* frame = agent::python_frame();
  std::uint32_t outermost = thread->depth;
  while (outermost > 0 && thread->running[outermost - 1].frame == frame) --outermost;
  if (frame == nullptr || outermost == thread->depth) return agent::stack_of_thread(&thread->module);
  RunningOp& op = thread->running[outermost];
  if (!op.stack_known) {
    op.stack = agent::stack_of_thread(&op.module);
    op.stack_known = true;
  }
  thread->module = op.module;
  return op.stack;
}

void begin_op(TorchThread& thread, const void* function, const char* name, wire::OpScope scope) noexcept {
  ++thread.ordinal;
  if (thread.depth < TorchThread::kMaxDepth) {
    // A frame that opens a user scope continues inside the scope.
    const void* frame = scope != wire::OpScope::kUser ? agent::python_frame() : nullptr;
    RunningOp& op = thread.running[thread.depth];
    op.function = function;
    op.name = name;
    op.ordinal = thread.ordinal;
    op.scope = static_cast<std::uint32_t>(scope);
    op.stack_known = false;
    op.frame = frame;
    op.inputs_known = false;
    op.watched_count = 0;
    op.memory_known = false;
    op.first_memory = thread.memory_count;
  }
  ++thread.depth;
}

void end_op(TorchThread& thread, std::uint32_t at) noexcept {
  thread.depth = at;
  thread.memory_count = thread.running[at].first_memory;
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
