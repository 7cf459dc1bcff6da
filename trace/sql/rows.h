// The rows of a trace, as a writer sees them. Columns and their meaning: 0001.sql and docs/schema.md.
//
// In fields of type RowId, 0 is written as NULL. A row whose `to` was never set is a lifetime that has not ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/sql/kept.h"

namespace dcmt {

using RowId = std::int64_t;

/// Limit of a text in table string, in bytes; a writer truncates longer text. Records of the wire have no longer text.
inline constexpr std::size_t kLongestText = 16 * 1024;

/// A point in the process's order of events and on its monotonic clock. seq 0: not set.
struct Point {
  std::int64_t seq = 0;
  std::int64_t ns = 0;
  [[nodiscard]] bool set() const { return seq != 0; }
};

struct Span {
  Point from;
  Point to;
};

/// Where an event happened. The thread number may be 0, so it is optional.
struct Place {
  std::optional<std::int64_t> thread;
  RowId operator_id = 0;
  RowId stack = 0;
};

struct ThreadRow {
  std::int64_t id = 0;
  std::int64_t tid = 0;
  RowId name = 0;
  Point from;
};

struct OperatorRow {
  RowId id = 0;
  std::int64_t thread = 0;
  RowId parent = 0;
  RowId name = 0;
  std::string_view scope;  ///< 'function' | 'backward' | 'user'
  std::int64_t ordinal = 0;
  Span span;
};

struct BlockRow {
  RowId id = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> gpu;  ///< nullopt: a block of the CPU
  RowId storage = 0;
  Place birth;
  Place free;
  Span span;
  std::optional<std::int64_t> stream = {};  ///< 0: CUDA's default stream
  RowId owner = 0;
  bool waits = false;  ///< freed while other streams still used it
  Point done = {};     ///< when those streams had finished with it; not set if they never did
};

struct StorageRow {
  RowId id = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  bool first_seen = false;
  Place birth;
  Place end;
  RowId end_ordinal = 0;  ///< number of operators that the thread had begun at the end
  Span span;
};

struct TensorRow {
  RowId id = 0;
  RowId object = 0;
  std::int64_t address = 0;
  RowId storage = 0;
  Place birth;
  Span span;
};

struct MarkRow {
  RowId id = 0;
  std::string_view kind;  ///< static text
  RowId name = 0;
  std::optional<std::int64_t> thread;
  std::optional<std::int64_t> graph, key, cycle;
  RowId storage = 0;
  RowId tensor = 0;
  RowId dtype = 0;
  std::optional<std::int64_t> bytes, bytes_after, bytes_settled;
  Point settled;
  std::optional<std::int64_t> declared, remaining;
  std::optional<std::string> flags;
  std::optional<std::int64_t> ordinal;
  std::string_view trigger;  ///< static text; empty is written as NULL
  RowId parent = 0;
  std::optional<std::int64_t> value;
  RowId operator_id = 0;
  RowId stack = 0;
  Span span;
};

/// Counts of calls that gave the GPU work while a released storage was alive, so far.
struct LaunchesRow {
  RowId id = 0;  ///< sequence
  std::int64_t ns = 0;
  bool observed = false;
  std::int64_t calls = 0, graphs = 0, nccl = 0, unknown = 0, copies = 0;
};

struct SampleRow {
  RowId id = 0;
  RowId census = 0;
  std::string_view subject;  ///< static text
  RowId storage = 0;
  RowId tensor = 0;
  std::int64_t count = 0;
  std::int64_t explained = 0;
  std::int64_t unexplained = 0;
};

struct EdgeRow {
  RowId id = 0;
  RowId census = 0;
  RowId storage = 0;
  std::string_view held;  ///< static text
  RowId tensor = 0;
  std::string_view holder;  ///< static text
  std::optional<std::int64_t> object;
  std::optional<std::int64_t> thread;
  RowId name = 0;
  RowId function = 0;
  RowId file = 0;
  std::optional<std::int64_t> line;
  RowId assignment = 0;
  std::optional<std::int64_t> current_line, delete_line, return_line;
  RowId model_file = 0;
  std::optional<std::int64_t> model_line;
  RowId model_text = 0;
  std::string_view confidence;  ///< static text
  Span span;
};

/// Sums over one stretch of the run.
struct IntervalRow {
  RowId id = 0;
  std::optional<std::int64_t> step;
  std::int64_t steps = 0;
  Kept kept = Kept::kNo;
  std::int64_t records = 0;
  std::int64_t operators = 0, storages = 0, tensors = 0;
  std::int64_t releases = 0, residual = 0, residual_bytes = 0;
  Span span;
};

/// What the allocated curve of a device did in an interval.
struct IntervalCurveRow {
  RowId interval = 0;
  std::string_view device;  ///< static text
  std::int64_t begin_bytes = 0;
  std::int64_t peak_bytes = 0;
  Point peak_at;
  std::int64_t end_bytes = 0;
  std::int64_t allocs = 0, alloc_bytes = 0, frees = 0, free_bytes = 0;
  std::optional<std::int64_t> active_peak = {}, active_end = {}, reserved_peak = {}, reserved_end = {};
};

struct KeySumRow {
  std::int64_t graph = 0, key = 0;
  std::int64_t gathers = 0, releases = 0, final = 0, residual = 0, residual_bytes = 0, reads = 0, empty_reads = 0;
  std::int64_t kernel_reads = 0;
};

/// A key that a Python function gathers.
struct ParameterRow {
  std::int64_t graph = 0, key = 0;
  RowId name = 0;
  RowId mechanism = 0;
};

/// A call of an operator whose observed aliases differ from those of the call before. Its id is its sequence.
struct OperatorAliasRow {
  RowId id = 0;
  RowId name = 0, schema = 0;
  std::int64_t declared = 0, observed = 0;
};

/// One reading of the process's memory.
struct ScanRow {
  RowId id = 0;
  std::int64_t from_seq = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  std::int64_t storages = 0, owned = 0, objects = 0, torn = 0;
  bool collecting = false;
};

/// A holder that was found for one storage.
struct OwnerRow {
  RowId id = 0;
  RowId storage = 0;
  RowId scan = 0, last_scan = 0;
  std::int64_t position = 0;
  RowId path = 0, place = 0;
  bool confirmed = false;
};

/// The result for one storage in the latest scan that found it.
struct HeldRow {
  RowId storage = 0;
  RowId scan = 0;
  std::string_view role;  ///< static text
  bool otherwise = false;
};

struct ContainerRow {
  RowId id = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t entries = 0;
  RowId scan = 0, last_scan = 0;
  std::int64_t small_bytes = 0;
  RowId small_scan = 0;
};

struct HeldInRow {
  RowId storage = 0, container = 0, scan = 0;
};

/// The kernel's figures of the process's memory at one time; bytes.
struct ResidentRow {
  RowId id = 0;
  Point at;
  std::int64_t anonymous = 0, file = 0, shared = 0;
  std::int64_t torch = 0;
  std::optional<std::int64_t> cgroup = {};
};

/// The same figures, by the purpose of the mappings.
struct MappedRow {
  RowId sample = 0;
  std::string_view class_name;  ///< static text
  std::int64_t bytes = 0, torch = 0, size = 0;
  std::int64_t mappings = 0;
  RowId name = 0;
};

/// The holders of numpy arrays in one reading.
struct ArrayHolderRow {
  RowId scan = 0;
  std::int64_t position = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t arrays = 0, bytes = 0;
};

/// Addresses that CUDA's caching allocator reserved together. A begin with sequence 0: before the first record.
struct SegmentRow {
  RowId id = 0;
  std::int64_t gpu = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  bool expandable = false;
  Span span;
};

/// What is in use of a GPU's memory at one time; bytes.
struct GpuMemoryRow {
  RowId id = 0;
  std::int64_t ns = 0;
  std::int64_t gpu = 0;
  std::int64_t used = 0, total = 0;
  std::optional<std::int64_t> process = {};
  std::int64_t reserved = 0;
};

struct SourceLineRow {
  RowId source_path = 0;
  std::int64_t line = 0;
  RowId model_file = 0;
  std::optional<std::int64_t> model_line;
  RowId model_text = 0;
  RowId stack_text = 0;
};

struct DiagnosticRow {
  RowId id = 0;
  Point at;
  std::string_view code;  ///< static text
  RowId text = 0;
};

/// A request that an allocator could not satisfy. Its id is its sequence.
struct OutOfMemoryRow {
  RowId id = 0;
  std::optional<std::int64_t> gpu;  ///< nullopt: a request for the CPU
  std::int64_t requested = 0;
  std::optional<std::int64_t> allocated, reserved, free, total;
  Place where;
  std::int64_t ns = 0;
};

struct LossRow {
  RowId id = 0;
  std::string_view reason;  ///< static text
  std::int64_t count = 0;
  std::int64_t from_seq = 0;
  std::int64_t to_seq = 0;
  std::int64_t ns = 0;
  std::optional<std::int64_t> from_ns = {};
};

}  // namespace dcmt
