// The agent's side of its providers: what a provider may call, and the table through which it serves the agent.
//
// Providers (collector/torch, collector/python, collector/cuda) are shared objects that the agent loads into the traced
// process once the library they know is there. Everything here is noexcept, allocates nothing and waits for nothing,
// unless said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/agent/api.h"
#include "collector/agent/hot_path.h"
#include "trace/wire/records.h"

namespace dcmt::agent {

/// An event of the calling thread could not be recorded for another reason than room: it counts as a lost record, so
/// that what depends on it is not known. Call it inside a guard that entered.
DCMT_AGENT_API void count_lost() noexcept;

/// Publishes what begin_record() (hot_path.h) gave.
DCMT_AGENT_API void commit_record(void* record) noexcept;

/// The id of a text, published at first sight; 0 for empty text. Text beyond 8 KiB is cut.
DCMT_AGENT_API std::uint64_t intern(const char* text, std::size_t bytes) noexcept;

/// True exactly once per id in the life of the process: the caller then publishes what the id means. If the table of
/// seen ids is full it answers true every time, which costs volume but never truth.
DCMT_AGENT_API bool first_sight(std::uint64_t id) noexcept;

/// Takes back a first_sight() whose record found no room, so that the next sight publishes it.
DCMT_AGENT_API void forget(std::uint64_t id) noexcept;

/// A 64-bit hash that never is 0.
DCMT_AGENT_API std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;

/// Writes a DiagnosticRecord, once for each text: what happens often is said once.
DCMT_AGENT_API void diagnose(wire::DiagnosticCode code, const char* text) noexcept;

/// Memory for tables, zeroed, never given back; nullptr if the system has none. For set-up, and a thread's first
/// record.
DCMT_AGENT_API void* arena(std::size_t bytes) noexcept;

/// True once after something was loaded: for every thread that has called dlopen(), and for one of all others.
DCMT_AGENT_API bool take_objects_changed() noexcept;

/// The functions that stand for dlopen and dlsym in this process (collector/inject/trampolines.S), where they do not
/// come before the C library's own: a program that loads the agent itself has them nowhere. nullptr where they do.
struct LoaderFunctions {
  void* open;
  void* symbol;
};
DCMT_AGENT_API LoaderFunctions loader_functions_to_import() noexcept;

/// For who took it and is not done.
DCMT_AGENT_API void note_objects_changed() noexcept;

/// File with the compiled table of operators; nullptr: none.
DCMT_AGENT_API const char* operators_path() noexcept;

/// Called where memory is allocated and recording() is false: counts a forked child that computes, once.
DCMT_AGENT_API void note_unrecorded_allocation() noexcept;

/// Follows what the recorder has asked for since the last call. Cheap if that is nothing.
DCMT_AGENT_API void take_followed_sizes() noexcept;
/// Nothing is followed any more.
void forget_followed_sizes() noexcept;
/// Tells the recorder where the sizes of small blocks are (trace/spool/small_sizes.h): tables that stay for ever.
DCMT_AGENT_API void show_small_blocks(const void* cpu_blocks, const void* gpu_regions) noexcept;

/// Memory that is watched, by address: that of released storages which are still alive. A storage has one range; where
/// ranges overlap, the one that begins nearest before an address counts. Any thread may call these at any time. A range
/// is not added if the table is full, and neither added nor removed if other threads are at it for a bounded time:
/// whoever finds an owner asks whether it still is what it was.
DCMT_AGENT_API bool watch_range(const void* owner, std::uint64_t begin, std::uint64_t bytes) noexcept;
DCMT_AGENT_API bool unwatch_range(const void* owner) noexcept;
/// How many there are.
DCMT_AGENT_API std::uint32_t watched_ranges() noexcept;
/// None is watched any more.
void forget_ranges() noexcept;
/// Who owns the memory at an address, if it is watched.
struct RangeLook {
  const void* owner;    ///< nullptr: nobody
  std::uint64_t bytes;  ///< of the range
  bool busy;            ///< not known: the table was changing
};
DCMT_AGENT_API RangeLook range_at(std::uint64_t address) noexcept;

/// From here on TorchProvider::thread_end is called when the calling thread ends, even if it makes no record.
DCMT_AGENT_API void follow_thread_end() noexcept;

/// The kernel thread id of the caller, cached.
DCMT_AGENT_API std::uint32_t current_tid() noexcept;

/// How far a look at Python locals reached.
struct LocalsReach {
  std::uint32_t found = 0;            ///< CensusLocalRecords written
  std::uint32_t frames = 0;           ///< frames looked at
  bool other_threads_unseen = false;  ///< other Python threads exist and were not looked at
};

/// How a Python function gathers or releases a parameter: it re-points the tensor, resizes the storage, or makes it.
enum class FunctionEvent : std::uint8_t { kMove, kResize, kBirth };
enum class FunctionRole : std::uint8_t { kNone, kGather, kRelease };

/// A running Python function of the table (docs/operators.md) that gathers or releases a parameter.
struct FunctionCall {
  FunctionRole role = FunctionRole::kNone;  ///< kNone: there is none, the rest means nothing
  bool numbered = false;                    ///< `number` is the parameter's
  bool persistent = false;                  ///< the parameter says that it is kept for good
  std::int64_t graph = 0;                   ///< stands for the mechanism: below 0, where no operator's graph is
  std::int64_t number = 0;
  std::uint64_t name = 0;       ///< string id: the parameter's; 0: not known
  std::uint64_t mechanism = 0;  ///< string id
  std::uint64_t function = 0;   ///< string id: qualified name
};

/// A place in Python's bytecode.
struct PythonPlace {
  const void* code;          ///< a code object that lives
  std::int32_t offset = -1;  ///< of the instruction, in bytes; negative: before the first
};

/// What the Python provider serves.
struct PythonProvider {
  std::uint32_t size = sizeof(PythonProvider);

  /// The id of the calling thread's Python stack (0: no frames), its record, code objects and strings published at
  /// first sight. Needs no GIL: the caller's own frames cannot move while it is inside C code.
  std::uint64_t (*capture_stack)() noexcept;

  /// The same of a stack that somebody else has taken, and whose code objects they keep alive: innermost place first;
  /// `more`: it goes on beyond them. Needs no GIL, and any thread may call it: what is read of a code object never
  /// changes.
  std::uint64_t (*describe_stack)(const PythonPlace* places, std::uint32_t count, bool more) noexcept;

  /// The calling thread's innermost Python frame, nullptr if it has none. For identity only, and only while what that
  /// frame has called still runs.
  const void* (*innermost_frame)() noexcept;

  /// Writes a CensusLocalRecord for every fast local, cell, free variable and evaluation-stack slot that refers to one
  /// of `objects` (addresses of Python objects), first in the calling thread's frames, then, if `other_threads`, in
  /// those of all others: only if the caller holds the GIL or nobody does, and then nobody can take it meanwhile. It is
  /// never taken and never waited for. Also publishes the CodeBodyRecords of the frames' code objects and the
  /// SourceLineRecords of generated files, once each.
  LocalsReach (*visit_locals)(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                              bool other_threads) noexcept;

  /// The innermost function of the table, among the calling thread's innermost frames, that does `event`. `object`: the
  /// Python object of the tensor that is re-pointed, else nullptr. Reads attributes as CPython does, without running
  /// Python code; none without the GIL.
  FunctionCall (*function_here)(FunctionEvent event, const void* object) noexcept;

  /// True once a function that gathers by making storages has been on a stack that was taken.
  bool (*births_by_functions)() noexcept;

  /// The recording has ended, and the gate is closed: as TorchProvider::leave.
  void (*leave)() noexcept;
};

/// Called by the Python provider when a recording starts and its self-check passed; nullptr: there is none any more.
/// `provider` must live for ever.
DCMT_AGENT_API void register_python_provider(const PythonProvider* provider) noexcept;

/// The registered Python provider, or nullptr.
DCMT_AGENT_API const PythonProvider* python_provider() noexcept;

/// The id of the calling thread's Python stack; 0 without a Python provider. Call inside the guard.
inline std::uint64_t python_stack() noexcept {
  const PythonProvider* python = python_provider();
  return python != nullptr ? python->capture_stack() : 0;
}

/// As PythonProvider::innermost_frame; nullptr without a Python provider.
inline const void* python_frame() noexcept {
  const PythonProvider* python = python_provider();
  return python != nullptr ? python->innermost_frame() : nullptr;
}

/// What the torch provider serves: the parts of the marks table that need to know tensors. `tensor` is a TensorImpl,
/// `object` a Python tensor; one of them is null.
struct TorchProvider {
  std::uint32_t size = sizeof(TorchProvider);
  void (*gather)(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept;
  void (*wait)(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept;
  void (*persist)(std::int64_t graph, std::int64_t key) noexcept;
  void (*release_begin)(std::int64_t graph, std::int64_t key, std::int32_t users) noexcept;
  void (*release_end)(std::int64_t graph, std::int64_t key) noexcept;
  void (*census)(void* tensor, void* object) noexcept;
  void (*thread_end)() noexcept;  ///< the calling thread ends; torch_thread_slot() is its to give back
  /// A call that gives the GPU work has an address in the watched memory of `owner`, of `bytes`, among its arguments.
  /// `name` is the kernel's, as the compiler made it, or the copying function's. Called inside the guard.
  void (*gpu_touch)(const void* owner, std::uint64_t bytes, const char* name) noexcept;
  /// A mark is about to be written, or the process leaves. Called inside the guard.
  void (*before_exact_moment)() noexcept;
  /// A call is about to give the GPU work, where such calls are observed. Called inside the guard.
  void (*gpu_work_begins)() noexcept;
  /// Writes what the allocators of the GPUs have handed out, where the recording began in a program that ran. Called
  /// when the hooks are in place, and again once they record (`recording`). Called inside the guard.
  void (*write_gpu_blocks)(bool recording) noexcept;
  /// The recording has ended, and the gate is closed: puts back what was hooked, where it still is ours. Hooks that
  /// run go on to what they pass on to.
  void (*leave)() noexcept;
  /// After that: what is known of the program is forgotten. `empty_tables` empties all memory of arena().
  void (*forget)(void (*empty_tables)()) noexcept;
};

/// Called by the torch provider when a recording starts and its self-check passed.
DCMT_AGENT_API void register_torch_provider(const TorchProvider* provider) noexcept;

/// The registered torch provider, or nullptr.
DCMT_AGENT_API const TorchProvider* torch_provider() noexcept;

/// What the CUDA provider serves. Call inside the guard.
struct CudaProvider {
  std::uint32_t size = sizeof(CudaProvider);

  /// From here on, calls that give the GPU work are looked at while memory is watched, if that is possible. Asks CUPTI,
  /// which takes locks of its own and of the driver's: not from within an allocator or a destructor. Cheap if it is so
  /// already, and if it has been tried in vain a moment ago.
  void (*watch_calls)() noexcept;

  /// Writes a LaunchesRecord, if calls are looked at or ever were.
  void (*write_launches)() noexcept;

  /// Somebody is about to subscribe to CUPTI through a pointer: the way is made free, for good.
  void (*step_aside)() noexcept;

  /// As watch_calls(), when a recording of a program that runs begins. nullptr, or why that is not possible, or not
  /// yet, in one line, which the trace has then as well.
  const char* (*watch_from_now)() noexcept;

  /// Such a recording is about to end, and the gate is open: the last LaunchesRecord, and what will stay.
  void (*before_end)() noexcept;

  /// The recording has ended, and the gate is closed: as TorchProvider::leave.
  void (*leave)() noexcept;
};

/// Called by the CUDA provider when a recording starts and CUPTI was found; nullptr: there is none any more.
DCMT_AGENT_API void register_cuda_provider(const CudaProvider* provider) noexcept;

/// The registered CUDA provider, or nullptr.
DCMT_AGENT_API const CudaProvider* cuda_provider() noexcept;

/// Called by the torch provider instead, if its self-check failed: nothing is recorded and the recorder says `why`.
DCMT_AGENT_API void refuse(const char* why) noexcept;

/// The program has ended, and nothing of it is torn down yet. Waits while the recorder reads the memory of the process,
/// if it wants to: for as long as kEnvExitWait says at most, and not beyond the next signal.
DCMT_AGENT_API void await_last_reading() noexcept;

/// Tells the recorder which torch this is.
DCMT_AGENT_API void set_torch_version(const char* version) noexcept;
DCMT_AGENT_API void set_python_version(const char* version) noexcept;

}  // namespace dcmt::agent
