// What the torch provider keeps per thread: the operators that are running, and releases that wait to be settled.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/key_reads.h"
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
  std::uint64_t stack;  ///< if known: of the Python frames that called it
  const void* frame;    ///< the innermost of these, which stands still while the operator runs; nullptr: no such frame
  // Of its inputs, where they were looked at:
  bool inputs_known;  ///< `watched` has all of the watched storages among them
  std::uint32_t watched_count;
  const void* watched[kMostWatched];
};

/// An operator that runs and makes a view of a released storage whose bytes are gone.
struct EmptyView {
  const void* function;  ///< torch's RecordFunction, for identity only; nullptr: there is none
  const void* tensor;    ///< for identity only
  ReleasedKey key;
  int exceptions;  ///< on their way on this thread when it began
};

/// What every hook reads comes first, in few cache lines.
struct TorchThread {
  static constexpr std::uint32_t kMaxDepth = 64;
  static constexpr std::uint32_t kMaxPending = 1024;  // a model's parameters, one after the other
  static constexpr std::uint32_t kMaxBoxed = 32;

  std::uint64_t ordinal;    ///< operators begun on this thread
  std::uint32_t depth;      ///< running operators, also those beyond kMaxDepth
  std::uint32_t written;    ///< how many of `running`, from the outermost, have their OpBegin written
  std::uint32_t in_detach;  ///< depth of shallow copies: a tensor is born there before it has its storage
  const void* detached;     ///< the last tensor born so
  std::uint64_t block;  ///< address of the last block allocated with a stack, until a tensor was born on it, or its end
  std::uint64_t block_stack;
  std::uint64_t block_tsc;
  const void* ending_storage;  ///< of the last tensor that ended, if it ends next; else nullptr
  std::uint64_t ending_block;  ///< address of the block of a storage that ends right now
  std::uint64_t ending_stack;
  std::uint64_t ending_tsc;     ///< of the end of that tensor or storage
  RecentBlocks* recent_blocks;  ///< nullptr: none yet
  // Of the CUDA allocator's trace, from an event to the report of the same block, under its lock.
  std::uint64_t cuda_allocated;  ///< address of the latest allocation
  std::uint64_t cuda_stream;     ///< of that block
  std::uint64_t cuda_freed;      ///< address of the latest free
  bool cuda_free_done;           ///< no stream uses that block any more
  const char* block_owner;       ///< who allocates CUDA blocks now, if it is known and no tensor; static text
  bool tell_next_op;          ///< memory of a key went on this thread: what comes next tells that it was not at the end
  bool memory_refused;        ///< inside the operator that runs: who holds what was released is looked at, at its end
  std::uint32_t in_cycle_op;  ///< depth of wrapped gather/wait/release operators
  KeyIndex releasing;         ///< the key whose release has begun; 0: none
  std::int32_t declared;      ///< uses declared by an explicit release that has begun
  std::uint32_t pending_count;
  KeyIndex pending[kMaxPending];  ///< keys whose final release waits for the next operator
  RunningOp running[kMaxDepth];
  std::uint32_t boxed_count;  ///< while releases settle: inputs of the beginning operator that torch has boxed
  const void* boxed[kMaxBoxed];
  EmptyView empty_view;
  bool explicit_inside;     ///< an explicit mark was made inside the wrapped operator that runs: it wins
  TorchThread* next_spare;  ///< once its thread has ended
};

// A job may have thousands of threads.
static_assert(sizeof(TorchThread) <= 16 * 1024);

/// A new thread's state, or nullptr.
TorchThread* take_torch_thread() noexcept;

/// The calling thread's state; nullptr if it has told nothing yet.
inline TorchThread* torch_thread_if_any() noexcept { return static_cast<TorchThread*>(agent::torch_thread_slot()); }

/// The calling thread's state; nullptr if there is no memory for it. Takes memory at a thread's first call.
inline TorchThread* torch_thread() noexcept {
  TorchThread* thread = torch_thread_if_any();
  return thread != nullptr ? thread : take_torch_thread();
}

/// Has `empty_tables` empty the memory of arena(), in which all states lie: every thread's is as new, and where it was.
/// A thread that was inside a call finds nothing of it.
void empty_torch_threads(void (*empty_tables)()) noexcept;

/// The calling thread ends: its state can serve another one.
void give_back_torch_thread() noexcept;

/// The operator, node or range of the program's own that began last and still runs; nullptr: none, or too deep to know.
inline RunningOp* innermost_op(TorchThread& thread) noexcept {
  if (thread.depth == 0 || thread.depth > TorchThread::kMaxDepth) return nullptr;
  return &thread.running[thread.depth - 1];
}

/// Id of the calling thread's Python stack, or 0. Walked once for all that an operator does outside of Python.
std::uint64_t stack_here() noexcept;

/// An operator begins on the thread. Its record is written before the first one made inside.
/// @param function  names it at its end  @param name  valid while it runs
void begin_op(TorchThread& thread, const void* function, const char* name, wire::OpScope scope) noexcept;
/// Ends the thread's running operator at this place, and what runs inside of it.
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
