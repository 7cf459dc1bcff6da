// Reading a trace into columns.
#include <algorithm>
#include <filesystem>
#include <future>
#include <system_error>

#include "analyzer/trace_data.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// Rows of a table as of its last ANALYZE, which the finish of a recording runs; 0 if there was none.
std::size_t row_count(Database& database, std::string_view table) {
  Expected<Statement> statement = database.prepare("SELECT max(CAST(stat AS INTEGER)) FROM sqlite_stat1 WHERE tbl = ?");
  if (!statement.ok()) return 0;
  statement->bind(1, table);
  const Expected<bool> row = statement->step();
  if (!row.ok() || !*row) return 0;
  // A damaged count must not ask for all memory: a row takes some bytes of the file.
  std::error_code error;
  const auto most = static_cast<std::int64_t>(std::filesystem::file_size(database.path(), error) / 16);
  return error ? 0 : static_cast<std::size_t>(std::clamp<std::int64_t>(statement->integer(0), 0, most));
}

template <class Read>
Status read_rows(Database& database, std::string_view sql, const Read& read) {
  Expected<Statement> statement = database.prepare(sql);
  if (!statement.ok()) return statement.error();
  for (;;) {
    Expected<bool> row = statement->step();
    if (!row.ok()) return row.error();
    if (!*row) return {};
    read(*statement);
  }
}

/// Takes the columns of a row one after the other.
class Cursor {
 public:
  explicit Cursor(const Statement& row) : row_(row) {}
  std::int64_t integer() { return row_.integer(column_++); }
  std::string_view text() { return row_.text(column_++); }
  std::optional<std::int64_t> optional_integer() { return row_.optional_integer(column_++); }
  template <class Id>
  Id id() {
    return Id(integer());
  }
  std::optional<Bytes> optional_bytes() {
    const std::optional<std::int64_t> value = optional_integer();
    return value ? std::optional(Bytes(*value)) : std::nullopt;
  }
  ThreadId thread() {
    const std::optional<std::int64_t> number = optional_integer();
    return number ? ThreadId(*number) : kNoThread;
  }
  Actor actor() {
    Actor actor;
    actor.thread = thread();
    actor.op = id<OperatorId>();
    actor.stack = id<StackId>();
    return actor;
  }
  Span span() {
    Span span;
    span.from_seq = id<Sequence>();
    span.to_seq = id<Sequence>();
    span.from_ns = id<TimeNs>();
    span.to_ns = id<TimeNs>();
    return span;
  }

 private:
  const Statement& row_;
  int column_ = 0;
};

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
    {"step", MarkKind::kStep},       {"phase", MarkKind::kPhase},     {"user", MarkKind::kUser},
    {"gather", MarkKind::kGather},   {"wait", MarkKind::kWait},       {"persist", MarkKind::kPersist},
    {"release", MarkKind::kRelease}, {"read", MarkKind::kRead},       {"census", MarkKind::kCensus},
    {"resize", MarkKind::kResize},   {"repoint", MarkKind::kRepoint},
};
constexpr Name<OperatorScope> kScopes[] = {
    {"function", OperatorScope::kFunction}, {"backward", OperatorScope::kBackward}, {"user", OperatorScope::kUser}};
constexpr Name<Subject> kSubjects[] = {
    {"storage", Subject::kStorage}, {"tensor", Subject::kTensor}, {"object", Subject::kObject}};
constexpr Name<HolderKind> kHolders[] = {{"tensor", HolderKind::kTensor}, {"python_object", HolderKind::kPythonObject},
                                         {"local", HolderKind::kLocal},   {"cell", HolderKind::kCell},
                                         {"free", HolderKind::kFree},     {"eval_stack", HolderKind::kEvalStack}};

constexpr Name<Kept> kKept[] = {{"all", Kept::kAll},   {"steps", Kept::kSteps},     {"every", Kept::kEvery},
                                {"peak", Kept::kPeak}, {"finding", Kept::kFinding}, {"last", Kept::kLast}};

struct FlagName {
  std::string_view text;
  bool MarkFlags::*flag;
};
constexpr FlagName kFlags[] = {
    {"final", &MarkFlags::final},
    {"persistent", &MarkFlags::persistent},
    {"mismatch", &MarkFlags::mismatch},
    {"no_gather", &MarkFlags::no_gather},
    {"explicit", &MarkFlags::explicit_mark},
    {"unwound", &MarkFlags::unwound},
    {"metadata_only", &MarkFlags::metadata_only},
    {"unstable", &MarkFlags::unstable},
    {"other_threads_unseen", &MarkFlags::other_threads_unseen},
    {"sharing_lossy", &MarkFlags::sharing_lossy},
};

MarkFlags parse_flags(std::string_view text) {
  MarkFlags flags;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    for (const FlagName& name : kFlags) {
      if (name.text == word) flags.*name.flag = true;
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return flags;
}

}  // namespace

Expected<TraceData> TraceData::load(Database& database) {
  TraceData data;
  data.path = database.path();
  DCMT_RETURN_IF_ERROR(database.execute("BEGIN"));
  if (const Status read = data.load_all(database); !read.ok()) {
    // The rows are what failed; that the transaction may not end either would only hide it.
    static_cast<void>(database.execute("ROLLBACK"));
    return read.error();
  }
  DCMT_RETURN_IF_ERROR(database.execute("COMMIT"));
  data.build_indexes();
  return data;
}

Status TraceData::load_all(Database& database) {
  DCMT_RETURN_IF_ERROR(load_meta(database));
  // A trace that grows is seen at one moment through one connection. One that is finished can be read through two at a
  // time: half of its rows are operators.
  if (meta_text(meta::kState) == "recording") {
    DCMT_RETURN_IF_ERROR(load_operators(database));
    return load_rows(database);
  }
  Expected<Database> second = Database::open(path, OpenMode::kRead);
  if (!second.ok()) return second.error();
  std::future<Status> operators_read = std::async(std::launch::async, [&] { return load_operators(*second); });
  const Status rows_read = load_rows(database);
  const Status other = operators_read.get();
  return rows_read.ok() ? other : rows_read;
}

Status TraceData::load_meta(Database& database) {
  return read_rows(database, "SELECT key, value, typeof(value) FROM meta", [&](const Statement& row) {
    MetaValue value;
    value.is_integer = row.text(2) == "integer";
    value.integer = row.integer(1);
    value.text = row.text(1);
    meta.emplace(row.text(0), std::move(value));
  });
}

Status TraceData::load_operators(Database& database) {
  operators.reserve(row_count(database, "operator"));
  return read_rows(
      database,
      "SELECT id, parent, thread, name, scope, ordinal, from_seq, to_seq, from_ns, to_ns FROM operator ORDER BY id",
      [&](const Statement& row) {
        Cursor in(row);
        Operator op;
        op.id = in.id<OperatorId>();
        op.parent = in.id<OperatorId>();
        op.thread = in.id<ThreadId>();
        op.name = in.id<StringId>();
        op.scope = named(in.text(), kScopes, OperatorScope::kFunction);
        op.ordinal = in.integer();
        op.span = in.span();
        operators.push_back(op);
      });
}

Status TraceData::load_rows(Database& database) {
  blocks.reserve(row_count(database, "block"));
  storages.reserve(row_count(database, "storage"));
  tensors.reserve(row_count(database, "tensor"));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, text FROM string ORDER BY id", [&](const Statement& row) {
    strings_.push_back({StringId(row.integer(0)), std::string(row.text(1))});
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, tid, name FROM thread ORDER BY id", [&](const Statement& row) {
    threads.push_back({ThreadId(row.integer(0)), row.integer(1), StringId(row.integer(2))});
  }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT id, file, function, line FROM frame ORDER BY id", [&](const Statement& row) {
        frames.push_back({FrameId(row.integer(0)), StringId(row.integer(1)), StringId(row.integer(2)), row.integer(3)});
      }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT id, parent, frame FROM stack ORDER BY id", [&](const Statement& row) {
        stacks.push_back({StackId(row.integer(0)), StackId(row.integer(1)), FrameId(row.integer(2))});
      }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database,
      "SELECT id, bytes, device, storage, thread, operator, stack, free_thread, free_operator, free_stack, from_seq, "
      "to_seq, from_ns, to_ns FROM block ORDER BY id",
      [&](const Statement& row) {
        Cursor in(row);
        Block block;
        block.id = in.id<BlockId>();
        block.bytes = in.id<Bytes>();
        block.device = intern(in.text());
        block.storage = in.id<StorageId>();
        block.birth = in.actor();
        block.end = in.actor();
        block.span = in.span();
        blocks.push_back(block);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(database,
                                 "SELECT id, bytes, seen, thread, operator, stack, end_thread, end_operator, "
                                 "end_stack, end_ordinal, from_seq, to_seq, from_ns, to_ns FROM storage ORDER BY id",
                                 [&](const Statement& row) {
                                   Cursor in(row);
                                   Storage storage;
                                   storage.id = in.id<StorageId>();
                                   storage.bytes = in.id<Bytes>();
                                   storage.first_seen = in.text() == "first_seen";
                                   storage.birth = in.actor();
                                   storage.end = in.actor();
                                   storage.end_ordinal = in.optional_integer();
                                   storage.span = in.span();
                                   storages.push_back(storage);
                                 }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database,
      "SELECT id, object, storage, thread, operator, stack, from_seq, to_seq, from_ns, to_ns FROM tensor ORDER BY id",
      [&](const Statement& row) {
        Cursor in(row);
        Tensor tensor;
        tensor.id = in.id<TensorId>();
        tensor.object = in.id<TensorId>();
        tensor.storage = in.id<StorageId>();
        tensor.birth = in.actor();
        tensor.span = in.span();
        tensors.push_back(tensor);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database,
      "SELECT id, parent, kind, flags, name, trigger, graph, key, cycle, storage, tensor, bytes, bytes_after, "
      "bytes_settled, settled_seq, settled_ns, declared, remaining, ordinal, value, thread, operator, stack, from_seq, "
      "to_seq, from_ns, to_ns FROM mark ORDER BY id",
      [&](const Statement& row) {
        Cursor in(row);
        Mark mark;
        mark.id = in.id<MarkId>();
        mark.parent = in.id<MarkId>();
        mark.kind = named(in.text(), kMarkKinds, MarkKind::kOther);
        mark.flags = parse_flags(in.text());
        mark.name = in.id<StringId>();
        mark.trigger = intern(in.text());
        const std::optional<std::int64_t> graph = in.optional_integer();
        const std::optional<std::int64_t> key = in.optional_integer();
        if (key) mark.key = Key{graph.value_or(0), *key};
        mark.cycle = in.integer();
        mark.storage = in.id<StorageId>();
        mark.tensor = in.id<TensorId>();
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
        marks.push_back(mark);
      }));
  DCMT_RETURN_IF_ERROR(read_rows(
      database, "SELECT id, census, subject, storage, tensor, count, explained, unexplained FROM sample ORDER BY id",
      [&](const Statement& row) {
        Cursor in(row);
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
      [&](const Statement& row) {
        Cursor in(row);
        Edge edge;
        edge.id = in.id<EdgeId>();
        edge.census = in.id<MarkId>();
        edge.storage = in.id<StorageId>();
        edge.held = named(in.text(), kSubjects, Subject::kStorage);
        edge.tensor = in.id<TensorId>();
        edge.holder = named(in.text(), kHolders, HolderKind::kOther);
        edge.object = in.integer();
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
  DCMT_RETURN_IF_ERROR(
      read_rows(database, "SELECT id, seq, code, text FROM diagnostic ORDER BY id", [&](const Statement& row) {
        diagnostics.push_back(
            {DiagnosticId(row.integer(0)), Sequence(row.integer(1)), intern(row.text(2)), StringId(row.integer(3))});
      }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, reason, count FROM loss ORDER BY id", [&](const Statement& row) {
    losses.push_back({LossId(row.integer(0)), intern(row.text(1)), row.integer(2)});
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT DISTINCT source_path FROM source_line ORDER BY source_path",
                                 [&](const Statement& row) { generated_files.emplace_back(row.integer(0)); }));
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT id, step, steps, kept, releases, residual, from_seq, to_seq, from_ns, to_ns FROM interval"
                " ORDER BY from_seq",
                [&](const Statement& row) {
                  Cursor in(row);
                  Interval interval;
                  interval.id = in.id<IntervalId>();
                  interval.step = in.optional_integer();
                  interval.steps = in.integer();
                  interval.kept = named(in.text(), kKept, Kept::kSumsOnly);
                  interval.releases = in.integer();
                  interval.residual = in.integer();
                  interval.span = in.span();
                  intervals.push_back(interval);
                }));
  for (const Interval& interval : intervals) {
    if (interval.kept == Kept::kSumsOnly) sums_only_.push_back(interval);
  }
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                "SELECT c.interval, c.device, c.begin_bytes, c.peak_bytes, c.peak_seq, c.peak_ns, c.end_bytes"
                " FROM interval i JOIN interval_curve c ON c.interval = i.id WHERE i.kept IS NULL ORDER BY i.from_seq",
                [&](const Statement& row) {
                  IntervalCurve curve;
                  curve.interval = IntervalId(row.integer(0));
                  curve.device = intern(row.text(1));
                  curve.begin = Bytes(row.integer(2));
                  curve.peak = Bytes(row.integer(3));
                  curve.peak_seq = Sequence(row.integer(4));
                  curve.peak_ns = TimeNs(row.integer(5));
                  curve.end = Bytes(row.integer(6));
                  interval_curves.push_back(curve);
                }));
  return read_rows(
      database,
      "SELECT graph, key, gathers, releases, final, residual, residual_bytes, reads, empty_reads FROM key_sum",
      [&](const Statement& row) {
        key_sums.push_back({{row.integer(0), row.integer(1)},
                            row.integer(2),
                            row.integer(3),
                            row.integer(4),
                            row.integer(5),
                            row.integer(6),
                            row.integer(7),
                            row.integer(8)});
      });
}

}  // namespace dcmt::analyzer
