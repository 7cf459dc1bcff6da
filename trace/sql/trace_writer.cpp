#include "trace/sql/trace_writer.h"

#include <array>
#include <functional>

namespace dcmt {
namespace {

/// Binds values one after the other, each by the meaning of its column.
class Binder {
 public:
  explicit Binder(Statement& statement) : statement_(statement) {}

  Binder& value(std::int64_t number) {
    statement_.bind(index_++, number);
    return *this;
  }
  Binder& value(std::optional<std::int64_t> number) {
    statement_.bind(index_++, number);
    return *this;
  }
  Binder& reference(RowId id) {
    if (id == 0) {
      statement_.bind_null(index_++);
    } else {
      statement_.bind(index_++, id);
    }
    return *this;
  }
  /// The text must outlive the next step. Empty text is NULL.
  Binder& text(std::string_view text) {
    if (text.empty()) {
      statement_.bind_null(index_++);
    } else {
      statement_.bind_static(index_++, text);
    }
    return *this;
  }
  /// Empty text stays a text; it is not NULL.
  Binder& string(std::string_view text) {
    statement_.bind_static(index_++, text);
    return *this;
  }
  /// The distance from the row's id back to another id.
  Binder& back(RowId row, RowId other) { return other != 0 ? value(row - other) : reference(0); }
  Binder& place(RowId row, const Place& place) {
    return value(place.thread).back(row, place.operator_id).reference(place.stack);
  }
  /// late, seq_length, from_ns, ns_length
  Binder& lifetime(RowId row, const Span& span) {
    value(row - span.from.seq).end(span.to, span.to.seq - span.from.seq).value(span.from.ns);
    return end(span.to, span.to.ns - span.from.ns);
  }
  /// from_seq, to_seq, from_ns, to_ns
  Binder& span(const Span& span) {
    value(span.from.seq).end(span.to, span.to.seq).value(span.from.ns);
    return end(span.to, span.to.ns);
  }
  /// wait_seq_length, wait_ns_length
  Binder& wait(bool waits, const Point& from, const Point& to) {
    const auto length = [&](std::int64_t number) { return std::optional(to.set() ? number : 0); };
    if (!waits) return value(std::optional<std::int64_t>()).value(std::optional<std::int64_t>());
    return value(length(to.seq - from.seq)).value(length(to.ns - from.ns));
  }
  Binder& end(const Point& point, std::int64_t number) {
    return point.set() ? value(number) : value(std::optional<std::int64_t>());
  }
  Status run() { return statement_.run(); }

 private:
  Statement& statement_;
  int index_ = 1;
};

std::size_t mix(std::size_t hash, std::int64_t value) {
  return (hash ^ std::hash<std::int64_t>{}(value)) * 0x9E3779B97F4A7C15u;
}

// In the order of TraceWriter::Table.
constexpr auto kSql = std::to_array<std::string_view>({
    "INSERT OR REPLACE INTO thread(id, tid, name, from_seq, from_ns) VALUES(?,?,?,?,?)",
    "INSERT OR REPLACE INTO operator(id, thread, parent_back, name, scope_code, ordinal, late, seq_length, from_ns,"
    " ns_length) VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO block(id, address, bytes, gpu, storage_back, thread, operator_back, stack, free_thread,"
    " free_operator_back, free_stack, late, seq_length, from_ns, ns_length, stream, owner, wait_seq_length,"
    " wait_ns_length) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO storage(id, address, bytes, first_seen, thread, operator_back, stack, end_thread,"
    " end_operator_back, end_stack, end_ordinal, late, seq_length, from_ns, ns_length)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO tensor(id, first, address, storage_back, thread, operator_back, stack, late, seq_length,"
    " from_ns, ns_length) VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO mark(id, kind, name, thread, graph, key, cycle, storage, tensor, dtype, bytes, bytes_after,"
    " bytes_settled, settled_seq, settled_ns, declared, remaining, flags, ordinal, trigger, parent, value, operator,"
    " stack, from_seq, to_seq, from_ns, to_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO launches(id, ns, looking, calls, graphs, nccl, unknown, copies) VALUES(?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO sample(id, census, subject, storage, tensor, count, explained, unexplained)"
    " VALUES(?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO edge(id, census, storage, held, tensor, holder, object, thread, name, function, file, line,"
    " assignment, current_line, delete_line, return_line, model_file, model_line, model_text, confidence, from_seq,"
    " to_seq, from_ns, to_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO diagnostic(id, seq, ns, code, text) VALUES(?,?,?,?,?)",
    "INSERT OR REPLACE INTO loss(id, reason, count, from_seq, to_seq, ns, from_ns) VALUES(?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO oom(id, gpu, requested, allocated, reserved, free, total, thread, operator, stack, ns)"
    " VALUES(?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO source_line(source_path, line, model_file, model_line, model_text, stack_text) VALUES(?,?,?,?,?,?)",
    "INSERT INTO source(path, text) VALUES(?,?)",
    "INSERT OR REPLACE INTO meta(key, value) VALUES(?,?)",
    "INSERT OR REPLACE INTO string(id, text) VALUES(?,?)",
    "INSERT OR REPLACE INTO frame(id, file, function, line) VALUES(?,?,?,?)",
    "INSERT OR REPLACE INTO stack(id, parent, frame) VALUES(?,?,?)",
    "INSERT OR REPLACE INTO interval(id, step, steps, kept, records, operators, storages, tensors, releases,"
    " residual, residual_bytes, from_seq, to_seq, from_ns, to_ns) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO interval_curve(interval, device, begin_bytes, peak_bytes, peak_seq, peak_ns, end_bytes,"
    " allocs, alloc_bytes, frees, free_bytes, active_peak_bytes, active_end_bytes, reserved_peak_bytes,"
    " reserved_end_bytes) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO key_sum(graph, key, gathers, releases, final, residual, residual_bytes, reads, empty_reads,"
    " kernel_reads) VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO parameter(graph, key, name, mechanism) VALUES(?,?,?,?)",
    "INSERT INTO operator_alias(id, name, schema, declared, observed) VALUES(?,?,?,?,?)",
    "INSERT OR REPLACE INTO scan(id, from_seq, from_ns, to_ns, storages, owned, objects, torn, collecting)"
    " VALUES(?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO owner(id, storage, scan, last_scan, position, path, place, confirmed)"
    " VALUES(?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO held(storage, scan, role, otherwise) VALUES(?,?,?,?)",
    "INSERT OR REPLACE INTO container(id, path, place, type, entries, scan, last_scan, small_bytes, small_scan)"
    " VALUES(?,?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO held_in(storage, container, scan) VALUES(?,?,?)",
    "INSERT OR REPLACE INTO resident(id, seq, ns, anonymous, file, shared, torch, cgroup) VALUES(?,?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO mapped(sample, class, bytes, torch, size, mappings, name) VALUES(?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO array_holder(scan, position, path, place, type, arrays, bytes) VALUES(?,?,?,?,?,?,?)",
    "INSERT OR REPLACE INTO segment(id, gpu, address, bytes, stream, expandable, from_seq, to_seq, from_ns, to_ns)"
    " VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO gpu_memory(id, ns, gpu, used, total, process, reserved) VALUES(?,?,?,?,?,?,?)",
    "DELETE FROM operator WHERE id = ?",
    "DELETE FROM block WHERE id = ?",
    "DELETE FROM storage WHERE id = ?",
    "DELETE FROM tensor WHERE id = ?",
    "DELETE FROM mark WHERE id = ?",
    "DELETE FROM launches WHERE id = ?",
    "DELETE FROM sample WHERE id = ?",
    "DELETE FROM edge WHERE id = ?",
    "DELETE FROM interval WHERE id = ?",
    "DELETE FROM interval_curve WHERE interval = ?",
    "SELECT 1 FROM operator WHERE id = ?",
    "SELECT 1 FROM block WHERE id = ?",
    "SELECT 1 FROM storage WHERE id = ?",
    "SELECT 1 FROM tensor WHERE id = ?",
    "SELECT (p.page_count - f.freelist_count) * s.page_size"
    " FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s",
    "BEGIN IMMEDIATE",
    "COMMIT",
});

}  // namespace

std::size_t TraceWriter::KeyHash::operator()(const FrameKey& key) const noexcept {
  return mix(mix(mix(0, key.file), key.function), key.line);
}

std::size_t TraceWriter::KeyHash::operator()(const StackKey& key) const noexcept {
  return mix(mix(0, key.parent), key.frame);
}

Expected<TraceWriter> TraceWriter::create(Database database) {
  TraceWriter writer(std::move(database));
  DCMT_RETURN_IF_ERROR(writer.prepare());
  DCMT_RETURN_IF_ERROR(writer.load());
  return writer;
}

Status TraceWriter::prepare() {
  static_assert(kSql.size() == kTables);
  for (const std::string_view sql : kSql) {
    DCMT_ASSIGN_OR_RETURN(Statement statement, database_.prepare(sql));
    statements_.push_back(std::move(statement));
  }
  return {};
}

Status TraceWriter::load() {
  DCMT_RETURN_IF_ERROR(each_row(database_, "SELECT id, text FROM string ORDER BY id", [this](const Statement& row) {
    strings_.try_emplace(std::string(row.text(1)), row.integer(0));
    next_string_ = row.integer(0) + 1;
  }));
  DCMT_RETURN_IF_ERROR(
      each_row(database_, "SELECT id, file, function, line FROM frame ORDER BY id", [this](const Statement& row) {
        frames_.try_emplace({row.integer(1), row.integer(2), row.integer(3)}, row.integer(0));
        next_frame_ = row.integer(0) + 1;
      }));
  return each_row(database_, "SELECT id, parent, frame FROM stack ORDER BY id", [this](const Statement& row) {
    stacks_.try_emplace({row.integer(1), row.integer(2)}, row.integer(0));
    next_stack_ = row.integer(0) + 1;
  });
}

Status TraceWriter::begin() { return statements_[kBegin].run(); }

Status TraceWriter::commit() { return statements_[kCommit].run(); }

Status TraceWriter::write(const ThreadRow& row) {
  return Binder(statements_[kThread])
      .value(row.id)
      .value(row.tid)
      .reference(row.name)
      .value(row.from.seq)
      .value(row.from.ns)
      .run();
}

Status TraceWriter::write(const OperatorRow& row) {
  return Binder(statements_[kOperator])
      .value(row.id)
      .value(row.thread)
      .back(row.id, row.parent)
      .value(row.name)
      .value(row.scope == "function"   ? 0
             : row.scope == "backward" ? 1
                                       : 2)
      .value(row.ordinal)
      .lifetime(row.id, row.span)
      .run();
}

Status TraceWriter::write(const BlockRow& row) {
  return Binder(statements_[kBlock])
      .value(row.id)
      .value(row.address)
      .value(row.bytes)
      .value(row.gpu)
      .back(row.id, row.storage)
      .place(row.id, row.birth)
      .place(row.id, row.free)
      .lifetime(row.id, row.span)
      .value(row.stream)
      .reference(row.owner)
      .wait(row.waits, row.span.to, row.done)
      .run();
}

Status TraceWriter::write(const StorageRow& row) {
  return Binder(statements_[kStorage])
      .value(row.id)
      .value(row.address)
      .value(row.bytes)
      .value(row.first_seen ? 1 : 0)
      .place(row.id, row.birth)
      .place(row.id, row.end)
      .reference(row.end_ordinal)
      .lifetime(row.id, row.span)
      .run();
}

Status TraceWriter::write(const TensorRow& row) {
  return Binder(statements_[kTensor])
      .value(row.id)
      .reference(row.object != row.id ? row.object : 0)
      .value(row.address)
      .back(row.id, row.storage)
      .place(row.id, row.birth)
      .lifetime(row.id, row.span)
      .run();
}

Status TraceWriter::write(const MarkRow& row) {
  Binder binder(statements_[kMark]);
  binder.value(row.id)
      .text(row.kind)
      .reference(row.name)
      .value(row.thread)
      .value(row.graph)
      .value(row.key)
      .value(row.cycle)
      .reference(row.storage)
      .reference(row.tensor)
      .reference(row.dtype)
      .value(row.bytes)
      .value(row.bytes_after)
      .value(row.bytes_settled)
      .end(row.settled, row.settled.seq)
      .end(row.settled, row.settled.ns)
      .value(row.declared)
      .value(row.remaining)
      .text(row.flags ? std::string_view(*row.flags) : std::string_view())
      .value(row.ordinal)
      .text(row.trigger)
      .reference(row.parent)
      .value(row.value)
      .reference(row.operator_id)
      .reference(row.stack)
      .span(row.span);
  return binder.run();
}

Status TraceWriter::write(const LaunchesRow& row) {
  return Binder(statements_[kLaunches])
      .value(row.id)
      .value(row.ns)
      .value(row.observed ? 1 : 0)
      .value(row.calls)
      .value(row.graphs)
      .value(row.nccl)
      .value(row.unknown)
      .value(row.copies)
      .run();
}

Status TraceWriter::write(const SampleRow& row) {
  return Binder(statements_[kSample])
      .value(row.id)
      .value(row.census)
      .text(row.subject)
      .reference(row.storage)
      .reference(row.tensor)
      .value(row.count)
      .value(row.explained)
      .value(row.unexplained)
      .run();
}

Status TraceWriter::write(const EdgeRow& row) {
  return Binder(statements_[kEdge])
      .value(row.id)
      .value(row.census)
      .value(row.storage)
      .text(row.held)
      .reference(row.tensor)
      .text(row.holder)
      .value(row.object)
      .value(row.thread)
      .reference(row.name)
      .reference(row.function)
      .reference(row.file)
      .value(row.line)
      .reference(row.assignment)
      .value(row.current_line)
      .value(row.delete_line)
      .value(row.return_line)
      .reference(row.model_file)
      .value(row.model_line)
      .reference(row.model_text)
      .text(row.confidence)
      .span(row.span)
      .run();
}

Status TraceWriter::write(const DiagnosticRow& row) {
  return Binder(statements_[kDiagnostic])
      .value(row.id)
      .value(row.at.seq)
      .value(row.at.ns)
      .text(row.code)
      .value(row.text)
      .run();
}

Status TraceWriter::write(const LossRow& row) {
  return Binder(statements_[kLoss])
      .value(row.id)
      .text(row.reason)
      .value(row.count)
      .value(row.from_seq)
      .value(row.to_seq)
      .value(row.ns)
      .value(row.from_ns)
      .run();
}

Status TraceWriter::write(const OutOfMemoryRow& row) {
  return Binder(statements_[kOutOfMemory])
      .value(row.id)
      .value(row.gpu)
      .value(row.requested)
      .value(row.allocated)
      .value(row.reserved)
      .value(row.free)
      .value(row.total)
      .value(row.where.thread)
      .reference(row.where.operator_id)
      .reference(row.where.stack)
      .value(row.ns)
      .run();
}

Status TraceWriter::write(const SourceLineRow& row) {
  return Binder(statements_[kSourceLine])
      .value(row.source_path)
      .value(row.line)
      .reference(row.model_file)
      .value(row.model_line)
      .reference(row.model_text)
      .value(row.stack_text)
      .run();
}

Status TraceWriter::write(const IntervalRow& row) {
  return Binder(statements_[kInterval])
      .value(row.id)
      .value(row.step)
      .value(row.steps)
      .text(text_of(row.kept))
      .value(row.records)
      .value(row.operators)
      .value(row.storages)
      .value(row.tensors)
      .value(row.releases)
      .value(row.residual)
      .value(row.residual_bytes)
      .span(row.span)
      .run();
}

Status TraceWriter::write(const IntervalCurveRow& row) {
  return Binder(statements_[kIntervalCurve])
      .value(row.interval)
      .text(row.device)
      .value(row.begin_bytes)
      .value(row.peak_bytes)
      .value(row.peak_at.seq)
      .value(row.peak_at.ns)
      .value(row.end_bytes)
      .value(row.allocs)
      .value(row.alloc_bytes)
      .value(row.frees)
      .value(row.free_bytes)
      .value(row.active_peak)
      .value(row.active_end)
      .value(row.reserved_peak)
      .value(row.reserved_end)
      .run();
}

Status TraceWriter::write(const KeySumRow& row) {
  return Binder(statements_[kKeySum])
      .value(row.graph)
      .value(row.key)
      .value(row.gathers)
      .value(row.releases)
      .value(row.final)
      .value(row.residual)
      .value(row.residual_bytes)
      .value(row.reads)
      .value(row.empty_reads)
      .value(row.kernel_reads)
      .run();
}

Status TraceWriter::write(const OperatorAliasRow& row) {
  return Binder(statements_[kOperatorAlias])
      .value(row.id)
      .value(row.name)
      .value(row.schema)
      .value(row.declared)
      .value(row.observed)
      .run();
}

Status TraceWriter::write(const ScanRow& row) {
  return Binder(statements_[kScan])
      .value(row.id)
      .value(row.from_seq)
      .value(row.from_ns)
      .value(row.to_ns)
      .value(row.storages)
      .value(row.owned)
      .value(row.objects)
      .value(row.torn)
      .value(row.collecting ? 1 : 0)
      .run();
}

Status TraceWriter::write(const OwnerRow& row) {
  return Binder(statements_[kOwner])
      .value(row.id)
      .value(row.storage)
      .value(row.scan)
      .value(row.last_scan)
      .value(row.position)
      .value(row.path)
      .reference(row.place)
      .value(row.confirmed ? 1 : 0)
      .run();
}

Status TraceWriter::write(const HeldRow& row) {
  return Binder(statements_[kHeld])
      .value(row.storage)
      .value(row.scan)
      .text(row.role)
      .value(row.otherwise ? 1 : 0)
      .run();
}

Status TraceWriter::write(const ContainerRow& row) {
  return Binder(statements_[kContainer])
      .value(row.id)
      .value(row.path)
      .reference(row.place)
      .value(row.type)
      .value(row.entries)
      .value(row.scan)
      .value(row.last_scan)
      .value(row.small_bytes)
      .value(row.small_scan)
      .run();
}

Status TraceWriter::write(const HeldInRow& row) {
  return Binder(statements_[kHeldIn]).value(row.storage).value(row.container).value(row.scan).run();
}

Status TraceWriter::write(const ResidentRow& row) {
  return Binder(statements_[kResident])
      .value(row.id)
      .value(row.at.seq)
      .value(row.at.ns)
      .value(row.anonymous)
      .value(row.file)
      .value(row.shared)
      .value(row.torch)
      .value(row.cgroup)
      .run();
}

Status TraceWriter::write(const MappedRow& row) {
  return Binder(statements_[kMapped])
      .value(row.sample)
      .text(row.class_name)
      .value(row.bytes)
      .value(row.torch)
      .value(row.size)
      .value(row.mappings)
      .reference(row.name)
      .run();
}

Status TraceWriter::write(const ArrayHolderRow& row) {
  return Binder(statements_[kArrayHolder])
      .value(row.scan)
      .value(row.position)
      .value(row.path)
      .reference(row.place)
      .value(row.type)
      .value(row.arrays)
      .value(row.bytes)
      .run();
}

Status TraceWriter::write(const SegmentRow& row) {
  return Binder(statements_[kSegment])
      .value(row.id)
      .value(row.gpu)
      .value(row.address)
      .value(row.bytes)
      .value(row.stream)
      .value(row.expandable ? 1 : 0)
      .span(row.span)
      .run();
}

Status TraceWriter::write(const GpuMemoryRow& row) {
  return Binder(statements_[kGpuMemory])
      .value(row.id)
      .value(row.ns)
      .value(row.gpu)
      .value(row.used)
      .value(row.total)
      .value(row.process)
      .value(row.reserved)
      .run();
}

Status TraceWriter::write(const ParameterRow& row) {
  return Binder(statements_[kParameter])
      .value(row.graph)
      .value(row.key)
      .reference(row.name)
      .reference(row.mechanism)
      .run();
}

Status TraceWriter::erase(const IntervalRow& row) {
  DCMT_RETURN_IF_ERROR(erase(kEraseInterval, row.id));
  return erase(kEraseIntervalCurve, row.id);
}

Status TraceWriter::forget_steps() {
  return database_.execute("DELETE FROM mark WHERE kind = 'step'; UPDATE interval SET step = NULL, steps = 0");
}

Expected<std::int64_t> TraceWriter::used_bytes() {
  Statement& query = statements_[kUsed];
  DCMT_RETURN_IF_ERROR(query.step().status());
  const std::int64_t bytes = query.integer(0);
  query.reset();
  return bytes;
}

Expected<bool> TraceWriter::has(const OperatorRow& row) { return has(kHasOperator, row.id); }
Expected<bool> TraceWriter::has(const BlockRow& row) { return has(kHasBlock, row.id); }
Expected<bool> TraceWriter::has(const StorageRow& row) { return has(kHasStorage, row.id); }
Expected<bool> TraceWriter::has(const TensorRow& row) { return has(kHasTensor, row.id); }

Expected<bool> TraceWriter::has(Table table, RowId id) {
  Statement& query = statements_[table];
  query.bind(1, id);
  const Expected<bool> row = query.step();
  query.reset();
  return row;
}

Status TraceWriter::erase(Table table, RowId id) { return Binder(statements_[table]).value(id).run(); }

Status TraceWriter::write_source(RowId path, std::string_view text) {
  statements_[kSource].bind(1, path);
  statements_[kSource].bind_static(2, text);
  return statements_[kSource].run();
}

Status TraceWriter::set_meta(std::string_view key, std::string_view value) {
  statements_[kMeta].bind(1, key);
  statements_[kMeta].bind(2, value);
  return statements_[kMeta].run();
}

Status TraceWriter::set_meta(std::string_view key, std::int64_t value) {
  statements_[kMeta].bind(1, key);
  statements_[kMeta].bind(2, value);
  return statements_[kMeta].run();
}

Expected<RowId> TraceWriter::intern(std::string_view text) {
  text = text.substr(0, kLongestText);
  if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
  const RowId id = reserve_string();
  DCMT_RETURN_IF_ERROR(define_string(id, text));
  return id;
}

Expected<RowId> TraceWriter::frame(RowId file, RowId function, std::int64_t line) {
  const FrameKey key{file, function, line};
  if (const auto known = frames_.find(key); known != frames_.end()) return known->second;
  const RowId id = reserve_frame();
  DCMT_RETURN_IF_ERROR(define_frame(id, file, function, line));
  return id;
}

Expected<RowId> TraceWriter::stack(RowId parent, RowId frame) {
  const StackKey key{parent, frame};
  if (const auto known = stacks_.find(key); known != stacks_.end()) return known->second;
  const RowId id = reserve_stack();
  DCMT_RETURN_IF_ERROR(define_stack(id, parent, frame));
  return id;
}

Status TraceWriter::define_string(RowId id, std::string_view text) {
  text = text.substr(0, kLongestText);
  strings_.try_emplace(std::string(text), id);
  return Binder(statements_[kString]).value(id).string(text).run();
}

Status TraceWriter::define_frame(RowId id, RowId file, RowId function, std::int64_t line) {
  frames_.try_emplace({file, function, line}, id);
  return Binder(statements_[kFrame]).value(id).value(file).value(function).value(line).run();
}

Status TraceWriter::define_stack(RowId id, RowId parent, RowId frame) {
  stacks_.try_emplace({parent, frame}, id);
  return Binder(statements_[kStack]).value(id).reference(parent).value(frame).run();
}

}  // namespace dcmt
