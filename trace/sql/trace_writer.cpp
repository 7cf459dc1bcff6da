#include "trace/sql/trace_writer.h"

#include <functional>
#include <utility>

#include "trace/sql/row_io.h"

namespace dcmt {
namespace {

/// Rows that one statement inserts. More would hardly save more.
constexpr std::size_t kRowsAtOnce = 8;

std::size_t mix(std::size_t hash, std::int64_t value) {
  return (hash ^ std::hash<std::int64_t>{}(value)) * 0x9E3779B97F4A7C15u;
}

}  // namespace

std::size_t TraceWriter::KeyHash::operator()(const FrameKey& key) const noexcept {
  return mix(mix(mix(0, key.file), key.function), key.line);
}

std::size_t TraceWriter::KeyHash::operator()(const StackKey& key) const noexcept {
  return mix(mix(0, key.parent), key.frame);
}

Expected<TraceWriter> TraceWriter::create(Database database) {
  DCMT_ASSIGN_OR_RETURN(Statement used,
                        database.prepare("SELECT (p.page_count - f.freelist_count) * s.page_size"
                                         " FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s"));
  DCMT_ASSIGN_OR_RETURN(Statement begin, database.prepare("BEGIN IMMEDIATE"));
  DCMT_ASSIGN_OR_RETURN(Statement commit, database.prepare("COMMIT"));
  TraceWriter writer(std::move(database), std::move(used), std::move(begin), std::move(commit));
  DCMT_RETURN_IF_ERROR(writer.prepare());
  DCMT_RETURN_IF_ERROR(writer.load());
  return writer;
}

Status TraceWriter::prepare() {
  Status failed;
  const auto prepare_table = [&]<class Row>() -> Status {
    const std::vector<Column> columns = columns_of<Row>();
    const std::string of_id = " FROM " + std::string(Row::kTable.name) + " WHERE " + columns.front().name + " = ?";
    std::string sql = insert_sql(Row::kTable, columns);
    DCMT_ASSIGN_OR_RETURN(Statement insert, database_.prepare(sql));
    const std::string values = sql.substr(sql.rfind('('));
    for (std::size_t more = 1; more < kRowsAtOnce; ++more) sql += ", " + values;
    DCMT_ASSIGN_OR_RETURN(Statement insert_some, database_.prepare(sql));
    DCMT_ASSIGN_OR_RETURN(Statement erase, database_.prepare("DELETE" + of_id));
    DCMT_ASSIGN_OR_RETURN(Statement has, database_.prepare("SELECT 1" + of_id));
    tables_.push_back({std::move(insert), std::move(insert_some), std::move(erase), std::move(has)});
    return {};
  };
  WrittenTables::each([&]<class Row>() {
    if (failed.ok()) failed = prepare_table.template operator()<Row>();
  });
  return failed;
}

Status TraceWriter::load() {
  DCMT_RETURN_IF_ERROR(each_row_of<StringRow>(database_, "ORDER BY id", [this](const StringRow& row) {
    strings_.try_emplace(std::string(row.text), row.id);
    next_string_ = row.id + 1;
  }));
  DCMT_RETURN_IF_ERROR(each_row_of<FrameRow>(database_, "ORDER BY id", [this](const FrameRow& row) {
    frames_.try_emplace({row.file, row.function, row.line}, row.id);
    next_frame_ = row.id + 1;
  }));
  return each_row_of<StackRow>(database_, "ORDER BY id", [this](const StackRow& row) {
    stacks_.try_emplace({row.parent, row.frame}, row.id);
    next_stack_ = row.id + 1;
  });
}

Status TraceWriter::begin() { return begin_.run(); }

Status TraceWriter::commit() { return commit_.run(); }

template <class Row>
Status TraceWriter::write(const Row& row) {
  return insert_row(table<Row>().insert, row);
}

template <class Row>
Status TraceWriter::write(std::span<const Row> rows) {
  for (; rows.size() >= kRowsAtOnce; rows = rows.subspan(kRowsAtOnce)) {
    Statement& insert = table<Row>().insert_some;
    int next = 1;
    for (const Row& row : rows.first(kRowsAtOnce)) next = bind_row(insert, row, next);
    DCMT_RETURN_IF_ERROR(insert.run());
  }
  for (const Row& row : rows) DCMT_RETURN_IF_ERROR(write(row));
  return {};
}

template <class Row>
Status TraceWriter::erase(const Row& row) {
  table<Row>().erase.bind(1, row.id);
  return table<Row>().erase.run();
}

Status TraceWriter::erase(const IntervalRow& row) {
  Statement& curves = table<IntervalCurveRow>().erase;
  curves.bind(1, row.id);
  DCMT_RETURN_IF_ERROR(curves.run());
  return erase<IntervalRow>(row);
}

template <class Row>
Expected<bool> TraceWriter::has(const Row& row) {
  Statement& query = table<Row>().has;
  query.bind(1, row.id);
  const Expected<bool> found = query.step();
  query.reset();
  return found;
}

Status TraceWriter::forget_steps() {
  return database_.execute("DELETE FROM mark WHERE kind = 'step'; UPDATE interval SET step = NULL, steps = 0");
}

Expected<std::int64_t> TraceWriter::used_bytes() {
  DCMT_RETURN_IF_ERROR(used_.step().status());
  const std::int64_t bytes = used_.integer(0);
  used_.reset();
  return bytes;
}

Expected<RowId> TraceWriter::intern(std::string_view text) {
  text = text.substr(0, kLongestText);
  if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
  const RowId id = reserve_string();
  DCMT_RETURN_IF_ERROR(define_string(id, text));
  return id;
}

Expected<std::string> TraceWriter::text(RowId string) {
  std::string text;
  DCMT_RETURN_IF_ERROR(each_row_of<StringRow>(database_, "WHERE id = " + std::to_string(string),
                                              [&](const StringRow& row) { text = row.text; }));
  return text;
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
  return write(StringRow{id, text});
}

Status TraceWriter::define_frame(RowId id, RowId file, RowId function, std::int64_t line) {
  frames_.try_emplace({file, function, line}, id);
  return write(FrameRow{id, file, function, line});
}

Status TraceWriter::define_stack(RowId id, RowId parent, RowId frame) {
  stacks_.try_emplace({parent, frame}, id);
  return write(StackRow{id, parent, frame});
}

template Status TraceWriter::write(const MetaRow&);
template Status TraceWriter::write(const StringRow&);
template Status TraceWriter::write(const ThreadRow&);
template Status TraceWriter::write(const FrameRow&);
template Status TraceWriter::write(const StackRow&);
template Status TraceWriter::write(const OperatorRow&);
template Status TraceWriter::write(const BlockRow&);
template Status TraceWriter::write(const StorageRow&);
template Status TraceWriter::write(const TensorRow&);
template Status TraceWriter::write(const MarkRow&);
template Status TraceWriter::write(const LaunchesRow&);
template Status TraceWriter::write(const SampleRow&);
template Status TraceWriter::write(const EdgeRow&);
template Status TraceWriter::write(const SourceRow&);
template Status TraceWriter::write(const SourceLineRow&);
template Status TraceWriter::write(const DiagnosticRow&);
template Status TraceWriter::write(const LossRow&);
template Status TraceWriter::write(const IntervalRow&);
template Status TraceWriter::write(const IntervalCurveRow&);
template Status TraceWriter::write(const KeySumRow&);
template Status TraceWriter::write(const OutOfMemoryRow&);
template Status TraceWriter::write(const ParameterRow&);
template Status TraceWriter::write(const OperatorAliasRow&);
template Status TraceWriter::write(const ScanRow&);
template Status TraceWriter::write(const OwnerRow&);
template Status TraceWriter::write(const HeldRow&);
template Status TraceWriter::write(const ContainerRow&);
template Status TraceWriter::write(const HeldInRow&);
template Status TraceWriter::write(const ResidentRow&);
template Status TraceWriter::write(const MappedRow&);
template Status TraceWriter::write(const ArrayHolderRow&);
template Status TraceWriter::write(const CollectionRow&);
template Status TraceWriter::write(const ForkedRow&);
template Status TraceWriter::write(const ForkedCollectionRow&);
template Status TraceWriter::write(const WatchedCountRow&);
template Status TraceWriter::write(const CountChangeRow&);
template Status TraceWriter::write(const NativeSiteRow&);
template Status TraceWriter::write(const NativeFrameRow&);
template Status TraceWriter::write(const NativeLiveRow&);
template Status TraceWriter::write(const SegmentRow&);
template Status TraceWriter::write(const AllocatorRow&);
template Status TraceWriter::write(const GpuMemoryRow&);
template Status TraceWriter::write(const JobRow&);
template Status TraceWriter::write(const JobProcessRow&);
template Status TraceWriter::write(const JobSharedRow&);
template Status TraceWriter::write(const StreamCallRow&);
template Status TraceWriter::write(const StreamUseRow&);
template Status TraceWriter::write(std::span<const GpuWorkRow>);
template Status TraceWriter::write(const ModuleRow&);
template Status TraceWriter::write(std::span<const OperatorRow>);
template Status TraceWriter::erase(const OperatorRow&);
template Status TraceWriter::write(std::span<const BlockRow>);
template Status TraceWriter::erase(const BlockRow&);
template Status TraceWriter::write(std::span<const StorageRow>);
template Status TraceWriter::erase(const StorageRow&);
template Status TraceWriter::write(std::span<const TensorRow>);
template Status TraceWriter::erase(const TensorRow&);
template Status TraceWriter::write(std::span<const MarkRow>);
template Status TraceWriter::erase(const MarkRow&);
template Status TraceWriter::write(std::span<const LaunchesRow>);
template Status TraceWriter::erase(const LaunchesRow&);
template Status TraceWriter::write(std::span<const SampleRow>);
template Status TraceWriter::erase(const SampleRow&);
template Status TraceWriter::write(std::span<const EdgeRow>);
template Status TraceWriter::erase(const EdgeRow&);
template Expected<bool> TraceWriter::has(const OperatorRow&);
template Expected<bool> TraceWriter::has(const BlockRow&);
template Expected<bool> TraceWriter::has(const StorageRow&);
template Expected<bool> TraceWriter::has(const TensorRow&);

}  // namespace dcmt
