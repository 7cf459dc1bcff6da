// The torch provider's data for each thread: running operators, and releases that wait to be settled.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/state/key_table.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {

struct RecentBlocks;  // known_blocks.h

struct RunningOp {
  static constexpr std::uint32_t kMostWatched = 8;

  const void* function;  ///< torch's RecordFunction, for identity only
  const char* name;      ///< valid while the operator runs
  std::uint64_t ordinal;
  std::uint32_t scope;  ///< wire::OpScope
  bool stack_known;
  std::uint64_t stack;   ///< if `stack_known`: of the Python frames that called it
  std::uint64_t module;  ///< likewise: the module whose call is the innermost one
  const void* frame;     ///< innermost of these frames, which does not advance while the operator runs; nullptr: none
  // Its inputs, if they were checked:
  bool inputs_known;  ///< `watched` has all of its watched storages
  std::uint32_t watched_count;
  const void* watched[kMostWatched];
  // If streams are followed:
  bool memory_known;           ///< what the operator works with is in the thread's `memory`
  std::uint32_t first_memory;  ///< its index there
};

/// Memory that an operator works with: one of its inputs, or what it has allocated.
struct OperatorMemory {
  std::uint64_t begin, end;
};

/// A running operator that makes a view of a released storage without bytes.
struct EmptyView {
  const void* function;  ///< torch's RecordFunction, for identity only; nullptr: there is none
  const void* tensor;    ///< for identity only
  ReleasedKey key;
  int exceptions;  ///< exceptions in flight on this thread when it began
};

/// The fields that every hook reads come first, in few cache lines.
struct TorchThread {
  static constexpr std::uint32_t kMaxDepth = 64;
  static constexpr std::uint32_t kMaxPending = 1024;  // enough for a model's parameters, one after the other
  static constexpr std::uint32_t kMaxBoxed = 32;

  std::uint64_t ordinal;    ///< operators begun on this thread
  std::uint32_t depth;      ///< running operators, also those beyond kMaxDepth
  std::uint32_t written;    ///< how many of `running`, from the outermost, have a written OpBegin
  std::uint32_t in_detach;  ///< depth of shallow copies: a tensor is born there before it has its storage
  const void* detached;     ///< the last tensor born in one
  std::uint64_t block;  ///< address of the last block allocated with a stack, until a tensor is born on it or it ends
  std::uint64_t block_stack;
  std::uint64_t block_tsc;
  const void* ending_storage;  ///< of the last tensor that ended, if the storage ends next; else nullptr
  std::uint64_t ending_block;  ///< address of the block of the storage that is ending
  std::uint64_t ending_stack;
  std::uint64_t ending_tsc;     ///< time of the end of that tensor or storage
  RecentBlocks* recent_blocks;  ///< nullptr: none yet
  std::uint64_t module;         ///< address of the module whose call is the innermost one on the latest stack; 0: none
  // Of the latest ModuleRecord, and of autograd's nodes at the latest block:
  std::uint64_t written_module;
  std::uint64_t written_node;
  std::uint64_t next_node;
  // Of the CUDA allocator's trace: valid from an event to the report of the same block, under the allocator's lock.
  std::uint64_t cuda_allocated;  ///< address of the latest allocation
  std::uint64_t cuda_stream;     ///< of that block
  std::uint64_t cuda_requested;  ///< bytes that were asked for it
  std::uint64_t cuda_freed;      ///< address of the latest free
  bool cuda_free_done;           ///< no stream uses that block any more
  const char* block_owner;       ///< owner of CUDA blocks allocated now, if known and not a tensor; static text
  bool record_next_op;           ///< memory of a key went on this thread: record the next operator, since work went on
  bool memory_refused;           ///< inside the running operator: a census follows at its end
  std::uint32_t in_cycle_op;     ///< depth of wrapped gather/wait/release operators
  KeyIndex releasing;            ///< key whose release has begun; 0: none
  std::int32_t declared;         ///< uses declared by an explicit release that has begun
  std::uint32_t pending_count;
  KeyIndex pending[kMaxPending];  ///< keys whose final release waits for the next operator
  RunningOp running[kMaxDepth];
  std::uint32_t boxed_count;  ///< while releases settle: inputs of the beginning operator that torch has boxed
  const void* boxed[kMaxBoxed];
  EmptyView empty_view;
  static constexpr std::uint32_t kMaxMemory = 128;
  std::uint32_t memory_count;
  OperatorMemory memory[kMaxMemory];  ///< of the running operators, the innermost last, if streams are followed
  bool explicit_inside;     ///< an explicit mark was made inside the running wrapped operator: the mark counts
  TorchThread* next_spare;  ///< next in the list of spare states, after its thread has ended
};

// A job may have thousands of threads.
static_assert(sizeof(TorchThread) <= 16 * 1024);

/// A state for a new thread, or nullptr.
TorchThread* acquire_torch_thread() noexcept;

/// The calling thread's state; nullptr if it has none yet.
inline TorchThread* torch_thread_if_any() noexcept { return static_cast<TorchThread*>(agent::torch_thread_slot()); }

/// The calling thread's state; nullptr if there is no memory for it. Allocates at a thread's first call.
inline TorchThread* torch_thread() noexcept {
  TorchThread* thread = torch_thread_if_any();
  return thread != nullptr ? thread : acquire_torch_thread();
}

/// Lets `empty_tables` empty the memory of arena(), which has all states: each thread's state keeps its address and is
/// reset. A thread that is inside a call loses its data.
void empty_torch_threads(void (*empty_tables)()) noexcept;

/// The calling thread ends: its state can be reused.
void give_back_torch_thread() noexcept;

/// The innermost running operator, node or user range; nullptr: none, or it is nested too deep.
inline RunningOp* innermost_op(TorchThread& thread) noexcept {
  if (thread.depth == 0 || thread.depth > TorchThread::kMaxDepth) return nullptr;
  return &thread.running[thread.depth - 1];
}

/// If streams are followed: the innermost operator works with this memory, too.
void add_operator_memory(TorchThread& thread, std::uint64_t begin, std::uint64_t bytes) noexcept;
/// See agent::TorchProvider.
agent::ArgumentOf argument_of(std::uint64_t address) noexcept;

/// Id of the calling thread's Python stack, or 0. The stack is walked once for all records of an operator outside of
/// Python. Sets TorchThread::module.
std::uint64_t stack_here() noexcept;

/// A copy of an operator that runs on some thread and has the storage among its inputs. False if there is none.
/// @param out  its name outlives it, and its stack is known
bool op_with_input(const void* storage, RunningOp& out) noexcept;

/// An operator begins on the thread. Its begin is written before the first record made inside it.
/// @param function  identifies it at its end  @param name  valid while it runs
void begin_op(TorchThread& thread, const void* function, const char* name, wire::OpScope scope) noexcept;
/// Ends the thread's running operator at this index, and all operators inside it.
void end_op(TorchThread& thread, std::uint32_t at) noexcept;
/// False if the thread does not run it.
bool end_op_of(TorchThread& thread, const void* function) noexcept;

void write_ops_not_written(TorchThread& thread) noexcept;

/// Writes the OpBegins of running operators that are not written yet, so that the next record has its context.
/// Call inside the guard, before begin_record().
inline void write_running_ops() noexcept {
  TorchThread* thread = torch_thread();
  if (thread != nullptr && thread->written < thread->depth) write_ops_not_written(*thread);
}

}  // namespace dcmt::torch_provider
