// The rows of a trace in memory, plain data. trace/sql/0001.sql defines each column; trace_data.h says how they differ.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/maybe.h"
#include "trace/base/typed_id.h"
#include "trace/sql/kept.h"

namespace dcmt::analyzer {

using DiagnosticId = TypedNumber<struct DiagnosticTag>;
using LossId = TypedNumber<struct LossTag>;
using IntervalId = TypedNumber<struct IntervalTag>;
using SampleId = TypedNumber<struct SampleTag>;
using WatchedCountId = TypedNumber<struct WatchedCountTag>;

/// A lifetime, or one point in time (`to_seq == from_seq`).
struct Span {
  Sequence from_seq, to_seq;
  TimeNs from_ns, to_ns;

  [[nodiscard]] bool ended() const { return to_seq.valid(); }
  /// The end; later than any record if there is none.
  [[nodiscard]] Sequence end() const { return ended() ? to_seq : Sequence(std::numeric_limits<std::int64_t>::max()); }
  /// True from the begin (included) to the end (excluded).
  [[nodiscard]] bool covers(Sequence at) const { return from_seq <= at && (!ended() || at < to_seq); }
};

struct Thread {
  ThreadId id;
  std::int64_t tid = 0;
  StringId name;
};

struct Frame {
  FrameId id;
  StringId file, function;
  std::int64_t line = 0;
};

/// A Python file whose text the recorder has copied.
struct SourceFile {
  StringId path;
  std::string text;
};

struct Stack {
  StackId id, parent;
  FrameId frame;
};

enum class OperatorScope : std::uint8_t { kFunction, kBackward, kUser };

struct Operator {
  OperatorId id, parent;
  std::int64_t ordinal = 0;
  Span span;
  ThreadId thread;
  StringId name;
  OperatorScope scope = OperatorScope::kFunction;
};

/// The agent numbers threads from 0, so "none" is below that.
inline constexpr ThreadId kNoThread{-1};

/// The originator of an event: its thread, operator and Python stack.
struct Actor {
  OperatorId op;
  ThreadId thread = kNoThread;
  StackId stack;
};

/// A block's CUDA stream if it is unknown; 0 is the default stream.
inline constexpr std::int32_t kNoStream = -1;

struct Block {
  BlockId id;
  Bytes bytes;
  StorageId storage;
  Actor birth, end;
  Span span;
  StringId device;
  StringId owner;  ///< who keeps the block, if that is known and not a tensor
  ModuleId module;
  std::int32_t stream = kNoStream;
};

/// A block that was freed while other streams still used it: from the free until these streams were done.
struct StreamWait {
  BlockId block;
  Sequence done;  ///< zero: not before the end of the trace
  TimeNs done_ns;
};

struct Storage {
  StorageId id;
  Bytes bytes;  ///< at birth
  bool first_seen = false;
  Actor birth, end;
  Maybe<std::int64_t> end_ordinal;  ///< operators that the ending thread had begun by then
  Span span;
};

struct Tensor {
  TensorId id, object;
  StorageId storage;
  Actor birth;
  Span span;
};

enum class MarkKind : std::uint8_t {
  kStep,
  kPhase,
  kUser,
  kGather,
  kWait,
  kPersist,
  kRelease,
  kRead,
  kWrite,  ///< an operator wrote other data to a released storage
  kTouch,
  kCensus,
  kResize,  ///< these rows are loaded as rows of their own: Resize
  kRepoint,
  kFence,       ///< what a release left was fenced, or was to be
  kFenceTouch,  ///< the first access to a fenced storage
  kPoison,      ///< what a release left was overwritten
  kResult,      ///< a gradient or a number that was read, as a digest
  kOther,
};

struct MarkFlags {
  bool final : 1 = false, persistent : 1 = false, mismatch : 1 = false, no_gather : 1 = false,
               explicit_mark : 1 = false;
  bool unwound : 1 = false, metadata_only : 1 = false, unstable : 1 = false, other_threads_unseen : 1 = false;
  bool sharing_lossy : 1 = false, kernel : 1 = false, function : 1 = false, shared : 1 = false, not_settled : 1 = false;
  bool untracked : 1 = false, foreign : 1 = false, gpu : 1 = false, refused : 1 = false;
  bool write : 1 = false, unseen : 1 = false;
};

/// Identifies a parameter: its graph and its number within the graph.
struct Key {
  std::int64_t graph = 0, key = 0;
  friend auto operator<=>(const Key&, const Key&) = default;  // NOLINT(modernize-use-nullptr)

  static constexpr std::string_view kShape = "key";
  static void describe(auto&& field) {
    field("graph", &Key::graph, "");
    field("key", &Key::key, "the parameter within it");
  }
};

/// Graphs and keys can be any numbers. This pair stands for no key.
template <>
inline constexpr Key kAbsent<Key>{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min()};

struct Mark {
  MarkId id, parent;
  MarkKind kind = MarkKind::kOther;
  MarkFlags flags;
  StringId name, trigger;
  StringId dtype;  ///< of the tensor of a gather or wait, if known
  Maybe<Key> key;
  std::int64_t cycle = 0;
  StorageId storage;
  TensorId tensor;
  Maybe<Bytes> bytes, bytes_after, bytes_settled;
  Sequence settled_seq;
  TimeNs settled_ns;
  Maybe<std::int64_t> declared, remaining, ordinal, value;
  Actor by;
  Span span;

  /// True for marks that set a key's storage: it is the one that the latest gather or wait gave.
  [[nodiscard]] bool gives_storage() const { return kind == MarkKind::kGather || kind == MarkKind::kWait; }
};

/// A resize of a storage. It is not a Mark, because a storage of FSDP2 is resized twice per step.
struct Resize {
  StorageId storage;
  Sequence seq;
  TimeNs ns;
  Maybe<Bytes> bytes;  ///< bytes after the resize
  Actor by;
};

enum class Subject : std::uint8_t { kStorage, kTensor, kObject };

struct Sample {
  SampleId id;
  MarkId census;
  Subject subject = Subject::kStorage;
  StorageId storage;
  TensorId tensor;
  std::int64_t count = 0, explained = 0, unexplained = 0;
};

enum class HolderKind : std::uint8_t { kTensor, kPythonObject, kLocal, kCell, kFree, kEvalStack, kView, kOther };

struct Edge {
  EdgeId id;
  MarkId census;
  StorageId storage;
  Subject held = Subject::kStorage;
  TensorId tensor;
  HolderKind holder = HolderKind::kOther;
  std::int64_t object = 0;
  ThreadId thread = kNoThread;
  StringId name, function, file, assignment, model_file, model_text;
  std::optional<std::int64_t> line, current_line, delete_line, return_line, model_line;
  bool certain = false;
  Span span;
};

struct Diagnostic {
  DiagnosticId id;
  Sequence seq;
  StringId code, text;
};

/// Records that are missing somewhere between two sequences.
struct Loss {
  LossId id;
  StringId reason;
  std::int64_t count = 0;
  Sequence from_seq, to_seq;
  TimeNs from_ns;  ///< of the first lost record, if known: a thread reports a loss (`from_seq`) only afterwards
};

/// A request that an allocator could not satisfy.
struct OutOfMemory {
  Sequence seq;
  TimeNs ns;
  StringId device;
  Bytes requested;
  std::optional<Bytes> allocated, reserved;  ///< torch's own count at that time; nullopt for the CPU
  std::optional<Bytes> free, total;          ///< of the device, as CUDA reports it
  Actor by;
};

/// A range of the run: its first record comes after from_seq, its last one is to_seq.
struct Interval {
  IntervalId id;
  std::optional<std::int64_t> step;  ///< number of the step that ends here
  std::int64_t steps = 0;            ///< number of steps that end in it
  Kept kept = Kept::kAll;
  std::int64_t releases = 0, residual = 0;
  Span span;
};

/// The allocated curve of an interval without rows: its begin, peak and end.
struct IntervalCurve {
  Span span;  ///< of the interval
  StringId device;
  Bytes begin, peak, end;
  Sequence peak_seq;
  TimeNs peak_ns;
};

/// Calls that gave the GPU work while a released storage was alive.
struct LaunchCounts {
  std::int64_t calls = 0;                                      ///< kernels, copies, fills, graphs
  std::int64_t graphs = 0, nccl = 0, unknown = 0, copies = 0;  ///< of `calls`, those whose memory is not visible

  [[nodiscard]] std::int64_t opaque() const { return graphs + nccl + unknown + copies; }
};

/// The counts of the run up to `seq`.
struct LaunchesSoFar {
  Sequence seq;
  bool observed = false;  ///< launches are observed from here on
  LaunchCounts counts;
};

/// The maxima of torch's CUDA allocator, over the whole run.
struct DevicePeaks {
  StringId device;
  std::optional<Bytes> active;    ///< allocated, or freed and still waiting for a stream
  std::optional<Bytes> reserved;  ///< sum of all segments
};

/// The memory that torch's CUDA allocator had reserved in an interval, with or without rows of the interval.
struct IntervalReserved {
  Span span;  ///< of the interval
  StringId device;
  Bytes peak, end;  ///< of all segments: the maximum, and the value at the end
};

/// The counts of a key over the whole run.
struct KeySum {
  Key key;
  std::int64_t gathers = 0, releases = 0, final = 0, residual = 0, residual_bytes = 0, reads = 0, empty_reads = 0;
  std::int64_t kernel_reads = 0;
};

/// A key that a Python function gathers.
struct Parameter {
  Key key;
  StringId name;  ///< zero: unknown
  StringId mechanism;
};

/// A meta value as in the file.
struct MetaValue {
  bool is_integer = false;
  std::int64_t integer = 0;
  std::string text;
};

}  // namespace dcmt::analyzer
