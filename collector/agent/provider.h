// The interface between the agent and its providers: what a provider may call, and the functions that it offers.
//
// Providers (collector/torch, collector/python, collector/cuda) are shared objects. The agent loads them into the
// traced process after the library that they observe. Every function here is noexcept, allocates nothing and does not
// wait, unless its comment says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collector/agent/api.h"
#include "collector/agent/hot_path.h"
#include "trace/arch/arch.h"
#include "trace/wire/records.h"

namespace dcmt::agent {

/// Counts a lost record for an event of the calling thread that could not be recorded for a reason other than a full
/// spool. Results that depend on it are then unknown. Call it inside a guard that entered.
DCMT_AGENT_API void count_lost() noexcept;

/// Publishes a record of begin_record() (hot_path.h).
DCMT_AGENT_API void commit_record(void* record) noexcept;

/// The id of a text, published at first sight; 0 for empty text. Text longer than 8 KiB is truncated.
DCMT_AGENT_API std::uint64_t intern(const char* text, std::size_t bytes) noexcept;

/// True exactly once for each id in the life of the process: the caller must publish the content of the id then. If the
/// table of ids is full, it returns true every time; that costs space but is still correct.
DCMT_AGENT_API bool first_sight(std::uint64_t id) noexcept;

/// Cancels a first_sight() whose record could not be written, so that the next sight publishes it.
DCMT_AGENT_API void forget(std::uint64_t id) noexcept;

/// A 64-bit hash that is never 0.
DCMT_AGENT_API std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept;

/// Writes a DiagnosticRecord, once for each text.
DCMT_AGENT_API void diagnose(wire::DiagnosticCode code, const char* text) noexcept;

/// Zeroed memory for tables, which is never freed; nullptr if the system has none. For set-up and for a thread's first
/// record.
DCMT_AGENT_API void* arena(std::size_t bytes) noexcept;

/// True once after an object was loaded: for every thread that has called dlopen(), and for one of all other threads.
DCMT_AGENT_API bool consume_objects_changed() noexcept;

/// The replacements of dlopen and dlsym in this process (collector/inject/trampolines.*.S). They are needed if they do
/// not precede those of the C library: a program that loads the agent itself does not have them. nullptr if they do
/// precede.
struct LoaderFunctions {
  void* open;
  void* symbol;
};
DCMT_AGENT_API LoaderFunctions loader_functions_to_import() noexcept;

/// For a caller of consume_objects_changed() that could not finish its work.
DCMT_AGENT_API void note_objects_changed() noexcept;

/// Path of the compiled table of operators; nullptr: none.
DCMT_AGENT_API const char* operators_path() noexcept;

/// Called when memory is allocated and recording() is false. Counts a forked child that allocates, once.
DCMT_AGENT_API void note_unrecorded_allocation() noexcept;

/// Holds the program for a reading of its variables: Python's main thread, before one of its next instructions. Takes
/// no lock but that of Python's queue of pending calls. Call it if hold_is_due().
DCMT_AGENT_API void hold_soon() noexcept;
/// The calling thread begins a backward pass. Holds it there, with what the forward has saved, for the first pass, the
/// second, the fourth, and so on.
DCMT_AGENT_API void hold_at_backward() noexcept;
/// An allocator has refused memory to the calling thread, which has published that. Holds it until the recorder has
/// read who holds what, before the exception leaves the first frame; torch's lock of an allocator may be held. Holds a
/// job for a bounded time in all. Call it inside a guard that entered.
DCMT_AGENT_API void hold_at_out_of_memory() noexcept;

/// Applies what the recorder has asked for since the last call. Cheap if nothing is new.
DCMT_AGENT_API void apply_followed_sizes() noexcept;
/// Stops tracking small sizes.
void forget_followed_sizes() noexcept;
/// Publishes the addresses of the size tables of small blocks (trace/spool/small_sizes.h). The tables must live for
/// ever.
DCMT_AGENT_API void show_small_blocks(const void* cpu_blocks, const void* gpu_regions) noexcept;

/// Watched memory, by address: the memory of released storages that are still alive. A storage has one range. If ranges
/// overlap, the range with the nearest begin before an address counts. Any thread may call these functions at any time.
/// A range is not added if the table is full; it is neither added nor removed if other threads change the table longer
/// than a bounded time. A caller that finds an owner must therefore check that it is still valid.
DCMT_AGENT_API bool watch_range(const void* owner, std::uint64_t begin, std::uint64_t bytes) noexcept;
DCMT_AGENT_API bool unwatch_range(const void* owner) noexcept;
/// The number of watched ranges.
DCMT_AGENT_API std::uint32_t watched_ranges() noexcept;
/// Removes all ranges.
void forget_ranges() noexcept;
/// The owner of the memory at an address, if the memory is watched.
struct WatchedRange {
  const void* owner;    ///< nullptr: not watched
  std::uint64_t bytes;  ///< of the range
  bool busy;            ///< unknown: the table was changing
};
DCMT_AGENT_API WatchedRange range_at(std::uint64_t address) noexcept;

/// From here on, TorchProvider::thread_end is called when the calling thread ends, even if it makes no record.
DCMT_AGENT_API void follow_thread_end() noexcept;

/// The kernel thread id of the caller, cached.
DCMT_AGENT_API std::uint32_t current_tid() noexcept;

/// How much a search through Python locals has inspected.
struct LocalsReach {
  std::uint32_t found = 0;            ///< CensusLocalRecords written
  std::uint32_t frames = 0;           ///< inspected frames
  bool other_threads_unseen = false;  ///< other Python threads exist and were not inspected
};

/// How a Python function gathers or releases a parameter: it re-points the tensor, resizes the storage, or makes one.
enum class FunctionEvent : std::uint8_t { kMove, kResize, kBirth };
enum class FunctionRole : std::uint8_t { kNone, kGather, kRelease };

/// A running Python function of the table (docs/operators.md) that gathers or releases a parameter.
struct FunctionCall {
  FunctionRole role = FunctionRole::kNone;  ///< kNone: there is none, and the other fields are invalid
  bool numbered = false;                    ///< `number` identifies the parameter
  bool persistent = false;                  ///< the parameter is marked as permanently kept
  std::int64_t graph = 0;                   ///< a number for the mechanism; below 0, where no operator's graph has its
                                            ///< number
  std::int64_t number = 0;
  std::uint64_t name = 0;       ///< string id of the parameter's name; 0: unknown
  std::uint64_t mechanism = 0;  ///< string id
  std::uint64_t function = 0;   ///< string id of the qualified name
};

/// A place in Python's bytecode.
struct PythonPlace {
  const void* code;          ///< a live code object
  std::int32_t offset = -1;  ///< of the instruction, in bytes; negative: before the first
};

/// A line of the program's source.
struct PythonLine {
  const char* file;  ///< the end of its path, from the begin of a name on
  int line;
};

/// The functions of the Python provider.
struct PythonProvider {
  std::uint32_t size = sizeof(PythonProvider);

  /// The id of the calling thread's Python stack; 0: no frames. Publishes its record, code objects and strings at first
  /// sight. Does not need the GIL: the caller's frames cannot change while it is inside C code.
  /// @param module  out: address of the torch.nn.Module whose call is the innermost one on the stack; 0: none is
  std::uint64_t (*capture_stack)(std::uint64_t* module) noexcept;

  /// Like capture_stack, for a stack that another component has read and whose code objects it keeps alive. The
  /// innermost place is first; `more`: the stack has further frames. Does not need the GIL, and any thread may call it:
  /// it reads only fields of code objects that never change.
  std::uint64_t (*describe_stack)(const PythonPlace* places, std::uint32_t count, bool more) noexcept;

  /// The calling thread's innermost Python frame; nullptr if there is none. Use it only to compare identity, and only
  /// while the code that the frame has called still runs.
  const void* (*innermost_frame)() noexcept;

  /// Writes a CensusLocalRecord for every fast local, cell, free variable and evaluation-stack slot that refers to one
  /// of `objects` (addresses of Python objects). Inspects the calling thread's frames first. If `other_threads`, it
  /// then inspects the frames of all other threads, but only if the caller holds the GIL, or if no thread holds it and
  /// none can acquire it meanwhile. It never acquires the GIL and never waits for it. Also publishes the
  /// CodeBodyRecords of the frames' code objects and the SourceLineRecords of generated files, once each.
  LocalsReach (*visit_locals)(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                              bool other_threads) noexcept;

  /// Publishes what visit_locals would publish of the innermost generated code that calls, so that a later visit of it
  /// is shorter. Call it at a gather: the release, and its census, follow in the same code. All is left to the visit if
  /// another thread holds the GIL. Never waits.
  void (*prepare_visit)() noexcept;

  /// The innermost function of the table that does `event`, among the calling thread's innermost frames. `object` is
  /// the Python object of the re-pointed tensor, else nullptr. Reads attributes as CPython does, without running Python
  /// code. Without the GIL, it finds no function.
  FunctionCall (*function_here)(FunctionEvent event, const void* object) noexcept;

  /// True once a captured stack had a function that gathers by making storages.
  bool (*births_by_functions)() noexcept;

  /// True if a frame of the calling thread is at one of these lines.
  bool (*runs_at)(const PythonLine* lines, std::uint32_t count) noexcept;

  /// The recording has ended and the gate is closed: like TorchProvider::leave.
  void (*leave)() noexcept;
};

/// Called by the Python provider when a recording starts and its self-check passed; nullptr: unregisters it. `provider`
/// must live for ever.
DCMT_AGENT_API void register_python_provider(const PythonProvider* provider) noexcept;

/// The registered Python provider, or nullptr.
DCMT_AGENT_API const PythonProvider* python_provider() noexcept;

using arch::code_point_here;
using arch::CodePoint;

/// The id of the stack of C++ functions that leads to a place; 0: none. Publishes its record at first sight. Its frames
/// are those of the program's own objects; in a program with Python there are none.
DCMT_AGENT_API std::uint64_t cpp_stack(const CodePoint& place) noexcept;
/// The same with the frames of all objects but our own, up to Python's interpreter. Call prepare_native_stacks()
/// before.
DCMT_AGENT_API std::uint64_t native_stack(const CodePoint& place) noexcept;
/// Finds the objects that are loaded, or were loaded since. Takes the loader's lock. False if there is no memory.
DCMT_AGENT_API bool prepare_native_stacks() noexcept;

/// The id of the calling thread's stack: as PythonProvider::capture_stack, or of C++ in a program without Python. Call
/// inside the guard.
inline std::uint64_t stack_of_thread(std::uint64_t* module) noexcept {
  *module = 0;
  const PythonProvider* python = python_provider();
  return python != nullptr ? python->capture_stack(module) : cpp_stack(code_point_here());
}

/// As PythonProvider::innermost_frame; nullptr without a Python provider.
inline const void* python_frame() noexcept {
  const PythonProvider* python = python_provider();
  return python != nullptr ? python->innermost_frame() : nullptr;
}

/// As PythonProvider::prepare_visit; nothing without a Python provider.
inline void prepare_visit() noexcept {
  if (const PythonProvider* python = python_provider(); python != nullptr) python->prepare_visit();
}

/// What the running operator says of an address among a kernel's arguments.
enum class ArgumentOf : std::uint8_t {
  kUnknown,   ///< no operator of torch runs, or its inputs are not known
  kOperator,  ///< it lies in an input of the operator, or in memory that the operator has allocated
  kNothing,   ///< neither: old content of a structure that the kernel gets
};

/// The functions of the torch provider: the parts of the marks table that use tensors. `tensor` is a TensorImpl,
/// `object` a Python tensor; one of them is null.
struct TorchProvider {
  std::uint32_t size = sizeof(TorchProvider);
  void (*gather)(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept;
  void (*wait)(std::int64_t graph, std::int64_t key, void* tensor, void* object) noexcept;
  void (*persist)(std::int64_t graph, std::int64_t key) noexcept;
  void (*release_begin)(std::int64_t graph, std::int64_t key, std::int32_t users) noexcept;
  void (*release_end)(std::int64_t graph, std::int64_t key) noexcept;
  void (*census)(void* tensor, void* object) noexcept;
  void (*thread_end)() noexcept;  ///< the calling thread ends; frees what torch_thread_slot() refers to
  /// A call that gives the GPU work has an argument with an address in watched memory, which belongs to `owner` and has
  /// `bytes`. `name` is the kernel's mangled name, or the name of the copy function. Called inside the guard.
  void (*gpu_touch)(const void* owner, std::uint64_t bytes, const char* name) noexcept;
  /// A mark is about to be written, or the process exits. Called inside the guard.
  void (*before_exact_point)() noexcept;
  /// A call is about to give the GPU work, and such calls are observed. Called inside the guard.
  void (*gpu_work_begins)() noexcept;
  /// Writes the live blocks of the GPU allocators, if the recording began in a running program. Called once when the
  /// hooks are in place, and again when they record (`recording`). Called inside the guard.
  void (*write_gpu_blocks)(bool recording) noexcept;
  /// The recording has ended and the gate is closed: restores what was hooked, unless somebody else has replaced our
  /// hook. Running hooks finish and call the original functions.
  void (*leave)() noexcept;
  /// Called after leave(): forgets the state of the program. `empty_tables` empties all memory of arena().
  void (*forget)(void (*empty_tables)()) noexcept;
  // If follows_streams(), or follows_gpu_work() for the first, called inside the guard:
  std::uint64_t (*stack)() noexcept;  ///< id of the calling thread's stack
  ArgumentOf (*argument_of)(std::uint64_t address) noexcept;
};

/// Called by the torch provider when a recording starts and its self-check passed.
DCMT_AGENT_API void register_torch_provider(const TorchProvider* provider) noexcept;

/// The registered torch provider, or nullptr.
DCMT_AGENT_API const TorchProvider* torch_provider() noexcept;

/// The functions of the CUDA provider. Call them inside the guard.
struct CudaProvider {
  std::uint32_t size = sizeof(CudaProvider);

  /// From here on, calls that give the GPU work are observed while memory is watched, if that is possible. It calls
  /// CUPTI, which acquires locks of its own and of the driver, so do not call it from an allocator or a destructor. It
  /// is cheap if calls are observed already, or if a recent attempt failed.
  void (*watch_calls)() noexcept;

  /// Writes a LaunchesRecord, if calls are or ever were observed.
  void (*write_launches)() noexcept;

  /// Another library is about to subscribe to CUPTI through a pointer: unsubscribes for good.
  void (*step_aside)() noexcept;

  /// Like watch_calls(), when a recording of a running program begins. nullptr, or one line that says why calls are not
  /// observed, or not yet. The line is in the trace, too.
  const char* (*watch_from_now)() noexcept;

  /// Such a recording is about to end, and the gate is open: writes the last LaunchesRecord, and what will stay hooked.
  void (*before_end)() noexcept;

  /// The recording has ended and the gate is closed: like TorchProvider::leave.
  void (*leave)() noexcept;
};

/// Called by the CUDA provider when a recording starts and CUPTI was found; nullptr: unregisters it.
DCMT_AGENT_API void register_cuda_provider(const CudaProvider* provider) noexcept;

/// The registered CUDA provider, or nullptr.
DCMT_AGENT_API const CudaProvider* cuda_provider() noexcept;

/// The functions of the native provider.
struct NativeProvider {
  std::uint32_t size = sizeof(NativeProvider);

  /// Objects were loaded: hooks their calls of allocators, too. Call it where the loader's lock may be taken.
  void (*objects_changed)() noexcept;

  /// The program has ended: what it frees from here on was alive when it ended.
  void (*program_ends)() noexcept;

  /// The recording has ended and the gate is closed: like TorchProvider::leave.
  void (*leave)() noexcept;
};

/// Called by the native provider when a recording starts and its hooks are in place; nullptr: unregisters it.
DCMT_AGENT_API void register_native_provider(const NativeProvider* provider) noexcept;

/// The registered native provider, or nullptr.
DCMT_AGENT_API const NativeProvider* native_provider() noexcept;

/// Called by the torch provider instead if its self-check failed. Nothing is recorded, and the recorder prints `why`.
DCMT_AGENT_API void refuse(const char* why) noexcept;

/// The program has ended, and none of it is destroyed yet. Waits while the recorder reads the memory of the process, if
/// it wants to: at most for the time in kEnvExitWait, or until the next signal.
DCMT_AGENT_API void await_last_reading() noexcept;

/// Publishes the version of torch to the recorder.
DCMT_AGENT_API void set_torch_version(const char* version) noexcept;
DCMT_AGENT_API void set_python_version(const char* version) noexcept;

}  // namespace dcmt::agent
