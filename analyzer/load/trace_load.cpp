// Reading a trace into columns.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/printable.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/rows.h"

namespace dcmt::analyzer {
namespace {

constexpr unsigned kMostThreads = 8;  ///< more wait for memory only

/// What blocks lie on, by the texts that name it.
struct Devices {
  StringId cpu;
  std::vector<StringId> gpus;  ///< kMostGpus, by number
  bool has_owners = false;     ///< the table has them: not in schema 1
  bool has_streams = false;    ///< the trace of an allocator was followed, which alone tells of them
};

/// Takes the columns of a row one after the other. What no recorder writes is noted: the trace is damaged.
class Cursor {
 public:
  explicit Cursor(const Statement& row) : row_(row) {}

  void begin_row() { column_ = 0; }
  /// False once a row made no sense, or the counts of all rows together are more than any sum may be.
  [[nodiscard]] bool makes_sense() const { return makes_sense_ && total_ <= kLargest; }

  /// Any number: an address, a key.
  std::int64_t any() { return row_.integer(column_++); }
  std::optional<std::int64_t> optional_any() { return row_.optional_integer(column_++); }
  std::int64_t integer() { return counted(checked(any(), -kLargestCount, kLargestCount)); }
  std::string_view text() { return row_.text(column_++); }
  /// Text of the table string.
  std::string_view name() {
    const std::string_view name = text();
    if (name.size() > kLongestText) makes_sense_ = false;
    return name;
  }
  std::optional<std::int64_t> optional_integer() {
    const std::optional<std::int64_t> value = optional_any();
    return value ? std::optional(counted(checked(*value, -kLargestCount, kLargestCount))) : std::nullopt;
  }
  /// An id, a sequence, a time.
  template <class Id>
  Id id() {
    return number<Id>(any());
  }
  std::int64_t meta_integer() { return checked(any(), -kLargest, kLargest); }
  /// A count of the whole run.
  std::int64_t run_count() { return counted(meta_integer()); }
  Bytes bytes() { return Bytes(counted(checked(any(), 0, kLargestCount))); }
  std::optional<Bytes> optional_bytes() {
    const std::optional<std::int64_t> value = optional_any();
    return value ? std::optional(Bytes(counted(checked(*value, 0, kLargestCount)))) : std::nullopt;
  }
  std::optional<std::int64_t> gpu() {
    const std::optional<std::int64_t> value = optional_any();
    return value ? std::optional(checked(*value, 0, kMostGpus - 1)) : std::nullopt;
  }
  std::int32_t stream() {
    const std::optional<std::int64_t> value = optional_any();
    return value ? static_cast<std::int32_t>(checked(*value, 0, std::numeric_limits<std::int32_t>::max())) : kNoStream;
  }
  ThreadId thread() {
    const std::optional<std::int64_t> value = optional_any();
    return value ? number<ThreadId>(*value) : kNoThread;
  }
  Actor actor() {
    Actor actor;
    actor.thread = thread();
    actor.op = id<OperatorId>();
    actor.stack = id<StackId>();
    return actor;
  }
  /// Columns of the tables that grow with the run, as they are stored (trace/sql/0001.sql): to have SQLite generate the
  /// readable ones takes a sixth more CPU.
  template <class Id>
  Id back(std::int64_t row) {
    const std::optional<std::int64_t> distance = optional_any();
    return distance ? number<Id>(row - checked(*distance, -kLargest, kLargest)) : Id();
  }
  Actor actor(std::int64_t row) {
    Actor actor;
    actor.thread = thread();
    actor.op = back<OperatorId>(row);
    actor.stack = id<StackId>();
    return actor;
  }
  Span lifetime(std::int64_t row) {
    Span span;
    span.from_seq = Sequence(checked(row - checked(any(), -kLargest, kLargest), 0, kLargest));
    const std::optional<std::int64_t> sequences = optional_any();
    span.from_ns = id<TimeNs>();
    const std::int64_t ns = checked(any(), 0, kLargest);
    if (sequences) {
      span.to_seq = Sequence(span.from_seq.value + checked(*sequences, 0, kLargest));
      span.to_ns = TimeNs(span.from_ns.value + ns);
    }
    return span;
  }
  Span span() {
    Span span;
    span.from_seq = id<Sequence>();
    span.to_seq = id<Sequence>();
    span.from_ns = id<TimeNs>();
    span.to_ns = id<TimeNs>();
    if (span.ended() && (span.to_seq < span.from_seq || span.to_ns < span.from_ns)) makes_sense_ = false;
    return span;
  }

 private:
  template <class Id>
  Id number(std::int64_t value) {
    using Value = decltype(Id::value);
    return Id(
        static_cast<Value>(checked(value, 0, std::min<std::int64_t>(kLargest, std::numeric_limits<Value>::max()))));
  }
  std::int64_t checked(std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return value;
    makes_sense_ = false;
    return 0;
  }

  std::int64_t counted(std::int64_t value) {
    if (total_ <= kLargest) total_ += std::abs(value);
    return value;
  }

  const Statement& row_;
  int column_ = 0;
  bool makes_sense_ = true;
  std::int64_t total_ = 0;  ///< of all counts so far
};

template <class Read>
Status read_rows(Database& database, std::string_view sql, const Read& read, std::optional<Stretch> stretch = {}) {
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
  if (stretch) {
    statement.bind(1, stretch->first);
    statement.bind(2, stretch->last);
  }
  for (Cursor in(statement);;) {
    DCMT_ASSIGN_OR_RETURN(bool row, statement.step());
    if (!row) return {};
    in.begin_row();
    read(in);
    if (!in.makes_sense()) {
      const std::string_view from = sql.substr(sql.find(" FROM ") + 6);
      const std::string_view key = statement.text(0);
      return Error{ErrorCode::kBadInput,
                   database.path() + ": damaged: the row of " + std::string(from.substr(0, from.find(' '))) + " with " +
                       std::string(statement.column_name(0)) + " " + printable(key) + " makes no sense."};
    }
  }
}

Expected<bool> has_rows(Database& database, std::string_view sql) {
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
  return statement.step();
}

Expected<bool> has_column(Database& database, const std::string& table, const std::string& column) {
  return has_rows(database, "SELECT 1 FROM pragma_table_info('" + table + "') WHERE name = '" + column + "'");
}

template <class Value>
struct Name {
  std::string_view text;
  Value value;
};

template <class Value, std::size_t Size>
Value named(std::string_view text, const Name<Value> (&names)[Size], Value otherwise) {
  for (const Name<Value>& name : names) {
    if (name.text == text) return name.value;
  }
  return otherwise;
}

constexpr Name<MarkKind> kMarkKinds[] = {
    {"step", MarkKind::kStep},       {"phase", MarkKind::kPhase},   {"user", MarkKind::kUser},
    {"gather", MarkKind::kGather},   {"wait", MarkKind::kWait},     {"persist", MarkKind::kPersist},
    {"release", MarkKind::kRelease}, {"read", MarkKind::kRead},     {"touch", MarkKind::kTouch},
    {"write", MarkKind::kWrite},     {"census", MarkKind::kCensus}, {"resize", MarkKind::kResize},
    {"repoint", MarkKind::kRepoint},
};
constexpr Name<Subject> kSubjects[] = {
    {"storage", Subject::kStorage}, {"tensor", Subject::kTensor}, {"object", Subject::kObject}};
constexpr Name<HolderKind> kHolders[] = {{"tensor", HolderKind::kTensor}, {"python_object", HolderKind::kPythonObject},
                                         {"local", HolderKind::kLocal},   {"cell", HolderKind::kCell},
                                         {"free", HolderKind::kFree},     {"eval_stack", HolderKind::kEvalStack},
                                         {"view", HolderKind::kView}};

struct FlagName {
  std::string_view text;
  void (*set)(MarkFlags&);
};
constexpr FlagName kFlags[] = {
    {"final", [](MarkFlags& flags) { flags.final = true; }},
    {"persistent", [](MarkFlags& flags) { flags.persistent = true; }},
    {"mismatch", [](MarkFlags& flags) { flags.mismatch = true; }},
    {"no_gather", [](MarkFlags& flags) { flags.no_gather = true; }},
    {"function", [](MarkFlags& flags) { flags.function = true; }},
    {"shared", [](MarkFlags& flags) { flags.shared = true; }},
    {"explicit", [](MarkFlags& flags) { flags.explicit_mark = true; }},
    {"unwound", [](MarkFlags& flags) { flags.unwound = true; }},
    {"not_settled", [](MarkFlags& flags) { flags.not_settled = true; }},
    {"untracked", [](MarkFlags& flags) { flags.untracked = true; }},
    {"metadata_only", [](MarkFlags& flags) { flags.metadata_only = true; }},
    {"unstable", [](MarkFlags& flags) { flags.unstable = true; }},
    {"other_threads_unseen", [](MarkFlags& flags) { flags.other_threads_unseen = true; }},
    {"sharing_lossy", [](MarkFlags& flags) { flags.sharing_lossy = true; }},
    {"kernel", [](MarkFlags& flags) { flags.kernel = true; }},
};

MarkFlags parse_flags(std::string_view text) {
  MarkFlags flags;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    for (const FlagName& name : kFlags) {
      if (name.text == word) name.set(flags);
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return flags;
}

/// Whether blocks may have streams.
Expected<bool> has_streams(Database& database) {
  for (const auto& [table, column] : {std::pair("block", "stream"), {"interval_curve", "active_peak_bytes"}}) {
    const Expected<bool> known = has_column(database, table, column);  // not schema 1
    if (!known.ok() || !*known) return known;
  }
  return has_rows(database, "SELECT 1 FROM interval_curve WHERE active_peak_bytes IS NOT NULL LIMIT 1");
}

// The tables that grow with the run, in parts.

Status read_operators(Database& database, const Stretch& stretch, Column<Operator>& operators) {
  return read_rows(
      database,
      "SELECT id, parent_back, thread, name, scope_code, ordinal, late, seq_length, from_ns, ns_length FROM operator"
      " WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Operator op;
        op.id = in.id<OperatorId>();
        op.parent = in.back<OperatorId>(op.id.value);
        op.thread = in.id<ThreadId>();
        op.name = in.id<StringId>();
        op.scope = static_cast<OperatorScope>(std::clamp<std::int64_t>(in.integer(), 0, 2));
        op.ordinal = in.integer();
        op.span = in.lifetime(op.id.value);
        operators.push_back(op);
      },
      stretch);
}

Status read_blocks(Database& database, const Stretch& stretch, const Devices& devices, Column<Block>& blocks) {
  return read_rows(
      database,
      std::string("SELECT id, bytes, gpu, storage_back, thread, operator_back, stack, free_thread, free_operator_back,"
                  " free_stack, late, seq_length, from_ns, ns_length, ") +
          (devices.has_owners ? "owner, " : "NULL, ") + (devices.has_streams ? "stream" : "NULL") +
          " FROM block WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Block block;
        block.id = in.id<BlockId>();
        block.bytes = in.bytes();
        const std::optional<std::int64_t> gpu = in.gpu();
        block.device = gpu ? devices.gpus[static_cast<std::size_t>(*gpu)] : devices.cpu;
        block.storage = in.back<StorageId>(block.id.value);
        block.birth = in.actor(block.id.value);
        block.end = in.actor(block.id.value);
        block.span = in.lifetime(block.id.value);
        block.owner = in.id<StringId>();
        block.stream = in.stream();
        blocks.push_back(block);
      },
      stretch);
}

Status read_storages(Database& database, const Stretch& stretch, Column<Storage>& storages) {
  return read_rows(
      database,
      "SELECT id, bytes, first_seen, thread, operator_back, stack, end_thread, end_operator_back, end_stack,"
      " end_ordinal, late, seq_length, from_ns, ns_length FROM storage WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Storage storage;
        storage.id = in.id<StorageId>();
        storage.bytes = in.bytes();
        storage.first_seen = in.integer() != 0;
        storage.birth = in.actor(storage.id.value);
        storage.end = in.actor(storage.id.value);
        storage.end_ordinal = in.optional_integer();
        storage.span = in.lifetime(storage.id.value);
        storages.push_back(storage);
      },
      stretch);
}

Status read_tensors(Database& database, const Stretch& stretch, Column<Tensor>& tensors) {
  return read_rows(
      database,
      "SELECT id, first, storage_back, thread, operator_back, stack, late, seq_length, from_ns, ns_length FROM tensor"
      " WHERE id BETWEEN ? AND ? ORDER BY id",
      [&](Cursor& in) {
        Tensor tensor;
        tensor.id = in.id<TensorId>();
        tensor.object = in.id<TensorId>();
        if (!tensor.object.valid()) tensor.object = tensor.id;
        tensor.storage = in.back<StorageId>(tensor.id.value);
        tensor.birth = in.actor(tensor.id.value);
        tensor.span = in.lifetime(tensor.id.value);
        tensors.push_back(tensor);
      },
      stretch);
}

/// A table that is read in parts, which are joined at last.
template <class Row>
class Parts {
 public:
  /// Adds a job for each part, that calls read(Database&, const Stretch&, Column<Row>&). Both must outlive the jobs.
  template <class Read>
  Status plan(Database& database, const std::string& table, const Read& read, LoadJobs& jobs) {
    DCMT_ASSIGN_OR_RETURN(const std::vector<Stretch> stretches, stretches_of(database, table));
    parts_.resize(stretches.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      jobs.add([stretch = stretches[i], &read, &part = parts_[i]](Database& own) { return read(own, stretch, part); });
    }
    return {};
  }
  Column<Row> join() {
    Column<Row> rows;
    for (Column<Row>& part : parts_) rows.append(std::move(part));
    return rows;
  }

 private:
  std::vector<Column<Row>> parts_;
};

}  // namespace

Expected<TraceData> TraceData::load(Database& database, const Watch& watch) {
  TraceData data;
  data.path = printable(database.path());
  DCMT_RETURN_IF_ERROR(database.execute("BEGIN"));
  if (const Status read = data.load_all(database, watch.part(0, 0.8)); !read.ok()) {
    // The rows are what failed; that the transaction may not end either would only hide it.
    static_cast<void>(database.execute("ROLLBACK"));
    return read.error();
  }
  DCMT_RETURN_IF_ERROR(database.execute("COMMIT"));
  DCMT_RETURN_IF_ERROR(watch.check());
  data.build_indexes();
  watch.done(1);
  return data;
}

Status TraceData::load_all(Database& database, const Watch& watch) {
  DCMT_RETURN_IF_ERROR(load_meta(database));
  Devices devices{intern("cpu"), {}};
  DCMT_ASSIGN_OR_RETURN(const bool owners, has_column(database, "block", "owner"));
  devices.has_owners = owners;
  DCMT_ASSIGN_OR_RETURN(const bool streams, has_streams(database));
  devices.has_streams = streams;
  for (std::int64_t gpu = 0; gpu < kMostGpus; ++gpu) devices.gpus.push_back(intern("cuda:" + std::to_string(gpu)));
  const auto read_blocks_of = [&](Database& own, const Stretch& stretch, Column<Block>& part) {
    return read_blocks(own, stretch, devices, part);
  };
  LoadJobs jobs;
  Parts<Operator> operator_parts;
  Parts<Block> block_parts;
  Parts<Storage> storage_parts;
  Parts<Tensor> tensor_parts;
  jobs.add([&](Database& own) -> Status {
    DCMT_RETURN_IF_ERROR(load_rows(own));
    DCMT_RETURN_IF_ERROR(load_device_peaks(own));
    DCMT_RETURN_IF_ERROR(load_parameters(own));
    if (devices.has_streams) DCMT_RETURN_IF_ERROR(load_stream_waits(own));
    return load_out_of_memory(own, devices.gpus);
  });
  DCMT_RETURN_IF_ERROR(operator_parts.plan(database, "operator", read_operators, jobs));
  DCMT_RETURN_IF_ERROR(block_parts.plan(database, "block", read_blocks_of, jobs));
  DCMT_RETURN_IF_ERROR(storage_parts.plan(database, "storage", read_storages, jobs));
  DCMT_RETURN_IF_ERROR(tensor_parts.plan(database, "tensor", read_tensors, jobs));
  // A trace that grows is seen at one moment through one connection only. One that is finished is the same to all.
  const bool grows = meta_text(meta::kState) == "recording";
  const std::size_t cpus = std::clamp(std::thread::hardware_concurrency(), 1u, kMostThreads);
  DCMT_RETURN_IF_ERROR(jobs.run(database, grows ? 0 : cpus - 1, watch));
  operators = operator_parts.join();
  blocks = block_parts.join();
  storages = storage_parts.join();
  tensors = tensor_parts.join();
  return check_sums();
}

Status TraceData::check_sums() const {
  // Each part was checked by itself; of these, the analysis adds up all rows.
  const auto is_too_much = [](const auto& rows) {
    std::int64_t total = 0;
    for (const auto& row : rows) {
      if ((total += row.bytes.value) > kLargest) return true;
    }
    return false;
  };
  for (const auto& [table, wrong] : {std::pair("block", is_too_much(blocks)), {"storage", is_too_much(storages)}}) {
    if (wrong) return {ErrorCode::kBadInput, path + ": damaged: the bytes of table " + table + " add up to too much."};
  }
  return {};
}

Status TraceData::load_meta(Database& database) {
  return read_rows(database, "SELECT key, value, typeof(value), value FROM meta", [&](Cursor& in) {
    const std::string key(in.text());
    MetaValue value;
    // Lines and their fields, each of which is escaped where it is read.
    value.text = key == meta::kOrigins ? in.text() : printable(in.text());
    value.is_integer = in.text() == "integer";
    if (value.is_integer) value.integer = in.meta_integer();
    meta.emplace(key, std::move(value));
  });
}

Status TraceData::load_rows(Database& database) {
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, text FROM string ORDER BY id", [&](Cursor& in) {
    const StringId id = in.id<StringId>();
    strings_.push_back({id, printable(in.name())});
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, tid, name FROM thread ORDER BY id", [&](Cursor& in) {
    const auto id = in.id<ThreadId>();
    const std::int64_t tid = in.any();
    threads.push_back({id, tid, in.id<StringId>()});
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, file, function, line FROM frame ORDER BY id", [&](Cursor& in) {
    Frame frame;
    frame.id = in.id<FrameId>();
    frame.file = in.id<StringId>();
    frame.function = in.id<StringId>();
    frame.line = in.integer();
    frames.push_back(frame);
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, parent, frame FROM stack ORDER BY id", [&](Cursor& in) {
    Stack stack;
    stack.id = in.id<StackId>();
    stack.parent = in.id<StackId>();
    stack.frame = in.id<FrameId>();
    stacks.push_back(stack);
  }));
  DCMT_ASSIGN_OR_RETURN(const bool dtypes, has_column(database, "mark", "dtype"));
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                std::string("SELECT id, parent, kind, flags, name, trigger, graph, key, cycle, storage, tensor, ") +
                    (dtypes ? "dtype" : "NULL") +  // not before schema 5
                    ", bytes, bytes_after, bytes_settled, settled_seq, settled_ns, declared, remaining, ordinal, "
                    "value, thread, operator, stack, from_seq, "
                    "to_seq, from_ns, to_ns FROM mark ORDER BY id",
                [&](Cursor& in) {
                  Mark mark;
                  mark.id = in.id<MarkId>();
                  mark.parent = in.id<MarkId>();
                  mark.kind = named(in.text(), kMarkKinds, MarkKind::kOther);
                  mark.flags = parse_flags(in.text());
                  mark.name = in.id<StringId>();
                  mark.trigger = intern(printable(in.text()));
                  const std::optional<std::int64_t> graph = in.optional_any();
                  const std::optional<std::int64_t> key = in.optional_any();
                  if (key) mark.key = Key{graph.value_or(0), *key};
                  mark.cycle = in.integer();
                  mark.storage = in.id<StorageId>();
                  mark.tensor = in.id<TensorId>();
                  mark.dtype = in.id<StringId>();
                  mark.bytes = in.optional_bytes();
                  mark.bytes_after = in.optional_bytes();
                  mark.bytes_settled = in.optional_bytes();
                  mark.settled_seq = in.id<Sequence>();
                  mark.settled_ns = in.id<TimeNs>();
                  mark.declared = in.optional_integer();
                  mark.remaining = in.optional_integer();
                  mark.ordinal = in.optional_integer();
                  mark.value = in.optional_integer();
                  mark.by = in.actor();
                  mark.span = in.span();
                  if (mark.kind != MarkKind::kResize) {
                    marks.push_back(mark);
                  } else if (mark.storage.valid()) {
                    resizes.push_back({mark.storage, mark.span.from_seq, mark.span.from_ns, mark.bytes, mark.by});
                  }
                }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database, "SELECT id, looking, calls, graphs, nccl, unknown, copies FROM launches ORDER BY id", [&](Cursor& in) {
        LaunchesSoFar row;
        row.seq = in.id<Sequence>();
        row.looking = in.integer() != 0;
        row.counts.calls = in.run_count();
        row.counts.graphs = in.run_count();
        row.counts.nccl = in.run_count();
        row.counts.unknown = in.run_count();
        row.counts.copies = in.run_count();
        launches.push_back(row);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database, "SELECT id, census, subject, storage, tensor, count, explained, unexplained FROM sample ORDER BY id",
      [&](Cursor& in) {
        Sample sample;
        sample.id = in.id<SampleId>();
        sample.census = in.id<MarkId>();
        sample.subject = named(in.text(), kSubjects, Subject::kStorage);
        sample.storage = in.id<StorageId>();
        sample.tensor = in.id<TensorId>();
        sample.count = in.integer();
        sample.explained = in.integer();
        sample.unexplained = in.integer();
        samples.push_back(sample);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database,
      "SELECT id, census, storage, held, tensor, holder, object, thread, name, function, file, assignment, model_file, "
      "model_text, line, current_line, delete_line, return_line, model_line, confidence, from_seq, to_seq, from_ns, "
      "to_ns FROM edge ORDER BY id",
      [&](Cursor& in) {
        Edge edge;
        edge.id = in.id<EdgeId>();
        edge.census = in.id<MarkId>();
        edge.storage = in.id<StorageId>();
        edge.held = named(in.text(), kSubjects, Subject::kStorage);
        edge.tensor = in.id<TensorId>();
        edge.holder = named(in.text(), kHolders, HolderKind::kOther);
        edge.object = in.any();
        edge.thread = in.thread();
        edge.name = in.id<StringId>();
        edge.function = in.id<StringId>();
        edge.file = in.id<StringId>();
        edge.assignment = in.id<StringId>();
        edge.model_file = in.id<StringId>();
        edge.model_text = in.id<StringId>();
        edge.line = in.optional_integer();
        edge.current_line = in.optional_integer();
        edge.delete_line = in.optional_integer();
        edge.return_line = in.optional_integer();
        edge.model_line = in.optional_integer();
        edge.certain = in.text() == "certain";
        edge.span = in.span();
        edges.push_back(edge);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, seq, code, text FROM diagnostic ORDER BY id", [&](Cursor& in) {
    Diagnostic diagnostic;
    diagnostic.id = in.id<DiagnosticId>();
    diagnostic.seq = in.id<Sequence>();
    diagnostic.code = intern(printable(in.text()));
    diagnostic.text = in.id<StringId>();
    diagnostics.push_back(diagnostic);
  }));
  DCMT_RETURN_IF_ERROR(load_losses(database));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT DISTINCT source_path FROM source_line ORDER BY source_path",
                                 [&](Cursor& in) { generated_files.push_back(in.id<StringId>()); }));
  return load_intervals(database);
}

Status TraceData::load_device_peaks(Database& database) {
  Expected<bool> known = has_column(database, "interval_curve", "reserved_peak_bytes");  // not schema 1
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(database,
                   "SELECT device, max(active_peak_bytes), max(reserved_peak_bytes) FROM interval_curve"
                   " WHERE reserved_peak_bytes IS NOT NULL GROUP BY device",
                   [&](Cursor& in) {
                     DevicePeaks peaks;
                     peaks.device = intern(printable(in.text()));
                     peaks.active = in.optional_bytes();
                     peaks.reserved = in.optional_bytes();
                     device_peaks.push_back(peaks);
                   });
}

Status TraceData::load_parameters(Database& database) {
  Expected<bool> known = has_rows(database, "SELECT 1 FROM sqlite_master WHERE name = 'parameter'");  // from schema 3
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(database, "SELECT graph, key, name, mechanism FROM parameter ORDER BY graph, key", [&](Cursor& in) {
    Parameter parameter;
    parameter.key.graph = in.any();
    parameter.key.key = in.any();
    parameter.name = in.id<StringId>();
    parameter.mechanism = in.id<StringId>();
    parameters.push_back(parameter);
  });
}

Status TraceData::load_stream_waits(Database& database) {
  Expected<bool> known = has_column(database, "block", "wait_seq_length");  // from schema 3
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(database,
                   "SELECT id, late, seq_length, from_ns, ns_length, wait_seq_length, wait_ns_length FROM block"
                   " WHERE wait_seq_length IS NOT NULL ORDER BY id",
                   [&](Cursor& in) {
                     StreamWait wait;
                     wait.block = in.id<BlockId>();
                     const Span life = in.lifetime(wait.block.value);
                     const auto sequences = in.id<Sequence>();
                     const auto ns = in.id<TimeNs>();
                     if (!life.ended()) return;
                     if (sequences.valid()) {
                       wait.done = Sequence(life.to_seq.value + sequences.value);
                       wait.done_ns = TimeNs(life.to_ns.value + ns.value);
                     }
                     stream_waits.push_back(wait);
                   });
}

Status TraceData::load_out_of_memory(Database& database, const std::vector<StringId>& gpus) {
  Expected<bool> known = has_rows(database, "SELECT 1 FROM sqlite_master WHERE name = 'oom'");  // not schema 1
  if (!known.ok()) return known.error();
  if (!*known) return {};
  return read_rows(
      database,
      "SELECT id, gpu, requested, allocated, reserved, free, total, thread, operator, stack, ns FROM oom ORDER BY id",
      [&](Cursor& in) {
        OutOfMemory oom;
        oom.seq = in.id<Sequence>();
        const std::optional<std::int64_t> gpu = in.gpu();
        oom.device = gpu ? gpus[static_cast<std::size_t>(*gpu)] : intern("cpu");
        // A program can ask for any number of bytes.
        oom.requested = Bytes(in.meta_integer());
        oom.allocated = in.optional_bytes();
        oom.reserved = in.optional_bytes();
        oom.free = in.optional_bytes();
        oom.total = in.optional_bytes();
        oom.by = in.actor();
        oom.ns = in.id<TimeNs>();
        out_of_memory.push_back(oom);
      });
}

Status TraceData::load_losses(Database& database) {
  const Expected<bool> since = has_column(database, "loss", "from_ns");  // not before schema 6
  if (!since.ok()) return since.error();
  const std::string sql = std::string("SELECT id, reason, count, from_seq, to_seq, ") + (*since ? "from_ns" : "NULL") +
                          " FROM loss ORDER BY id";
  return read_rows(database, sql, [&](Cursor& in) {
    Loss loss;
    loss.id = in.id<LossId>();
    loss.reason = intern(printable(in.text()));
    loss.count = in.integer();
    loss.from_seq = in.id<Sequence>();
    loss.to_seq = in.id<Sequence>();
    loss.from_ns = in.id<TimeNs>();
    // A gap has all its sequences; of what else is lost it may not be known since when.
    const bool is_gap = text(loss.reason) == "in_flight" || text(loss.reason) == "damaged";
    if (!is_gap && !loss.from_ns.valid()) loss.from_seq = Sequence();
    losses.push_back(loss);
  });
}

Status TraceData::load_intervals(Database& database) {
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT id, step, steps, kept, releases, residual, from_seq, to_seq, from_ns, to_ns FROM interval"
                " ORDER BY from_seq",
                [&](Cursor& in) {
                  Interval interval;
                  interval.id = in.id<IntervalId>();
                  interval.step = in.optional_integer();
                  interval.steps = in.integer();
                  interval.kept = kept_of(in.text());
                  interval.releases = in.integer();
                  interval.residual = in.integer();
                  interval.span = in.span();
                  intervals.push_back(interval);
                }));
  has_sums_only_ = std::any_of(intervals.begin(), intervals.end(),
                               [](const Interval& interval) { return interval.kept == Kept::kNo; });
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT i.from_seq, i.to_seq, i.from_ns, i.to_ns, device, begin_bytes, peak_bytes, peak_seq, peak_ns,"
                " end_bytes FROM interval i JOIN interval_curve ON interval = i.id WHERE kept IS NULL"
                " ORDER BY i.from_seq",
                [&](Cursor& in) {
                  IntervalCurve curve;
                  curve.span = in.span();
                  curve.device = intern(printable(in.text()));
                  curve.begin = in.bytes();
                  curve.peak = in.bytes();
                  curve.peak_seq = in.id<Sequence>();
                  curve.peak_ns = in.id<TimeNs>();
                  curve.end = in.bytes();
                  interval_curves.push_back(curve);
                }));
  return read_rows(
      database,
      "SELECT graph, key, gathers, releases, final, residual, residual_bytes, reads, empty_reads, kernel_reads"
      " FROM key_sum",
      [&](Cursor& in) {
        KeySum sum;
        sum.key.graph = in.any();
        sum.key.key = in.any();
        sum.gathers = in.integer();
        sum.releases = in.integer();
        sum.final = in.integer();
        sum.residual = in.integer();
        sum.residual_bytes = in.run_count();
        sum.reads = in.integer();
        sum.empty_reads = in.integer();
        sum.kernel_reads = in.integer();
        key_sums.push_back(sum);
      });
}

}  // namespace dcmt::analyzer
