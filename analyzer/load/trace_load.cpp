// Reads a trace into columns.
#include <algorithm>
#include <string>
#include <thread>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/load_lifetimes.h"
#include "analyzer/load/table_reader.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/printable.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMostThreads = 8;  ///< more threads only wait for memory
/// Each thread opens a connection, which reads the schema: that costs as much as some thousand rows.
constexpr std::int64_t kRecordsOfAThread = 10'000;

/// True if blocks may have streams: only recordings with an allocator's trace have them.
Expected<bool> has_streams(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const bool known, has<&IntervalCurveRow::active_peak>(database));
  if (!known) return false;
  DCMT_ASSIGN_OR_RETURN(Statement query,
                        database.prepare("SELECT 1 FROM interval_curve WHERE active_peak_bytes IS NOT NULL LIMIT 1"));
  return query.step();
}

/// A table that is read in parts, which are joined at the end.
template <class Row>
class Parts {
 public:
  /// Adds a job for each part, which calls read(Database&, const Stretch&, Column<Row>&). Both must outlive the jobs.
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
    // Reading the rows failed already. An error of ROLLBACK would only hide that.
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
  DCMT_ASSIGN_OR_RETURN(devices.has_streams, has_streams(database));
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
  // Only one connection reads a growing trace in one consistent state. A finished trace is the same for all
  // connections.
  const bool grows = meta_text(meta::kState) == "recording";
  const std::int64_t cpus = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  const std::int64_t records = meta_integer(meta::kLastSeq).value_or(cpus * kRecordsOfAThread);
  const std::int64_t helpers = grows ? 0 : std::clamp<std::int64_t>(records / kRecordsOfAThread, 0, cpus - 1);
  DCMT_RETURN_IF_ERROR(jobs.run(database, static_cast<std::size_t>(helpers), watch));
  operators = operator_parts.join();
  blocks = block_parts.join();
  storages = storage_parts.join();
  tensors = tensor_parts.join();
  return check_sums();
}

Status TraceData::check_sums() const {
  // Each part was checked alone, but the analysis adds up the rows of all parts.
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
  // The only table with values of several types, which typeof() names.
  DCMT_ASSIGN_OR_RETURN(Statement row, database.prepare("SELECT key, value, typeof(value) FROM meta"));
  while (true) {
    DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
    if (!more) return {};
    const std::string key(row.text(0));
    MetaValue value;
    value.is_integer = row.text(2) == "integer";
    if (value.is_integer) value.integer = row.integer(1);
    if (value.integer < -kLargest || value.integer > kLargest) return damaged_row(database, MetaRow::kTable, row);
    // Consists of lines with fields. Each field is escaped when it is read.
    value.text = key == meta::kOrigins ? row.text(1) : printable(row.text(1));
    meta.emplace(key, std::move(value));
  }
}

Status TraceData::load_texts(Database& database) {
  DCMT_RETURN_IF_ERROR(read_rows<StringRow>(
      database, "ORDER BY id", [this](StringRow& row) { strings_.push_back(std::move(row)); },
      column<&dcmt::StringRow::id, &StringRow::id>(),
      column<&dcmt::StringRow::text>([](StringRow& row, NameText name) { row.text = printable(name.text); })));
  DCMT_RETURN_IF_ERROR(read_rows<Thread>(
      database, "ORDER BY id", [this](const Thread& thread) { threads.push_back(thread); },
      column<&ThreadRow::id, &Thread::id>(),
      column<&ThreadRow::tid>([](Thread& thread, Any tid) { thread.tid = tid.value; }),
      column<&ThreadRow::name, &Thread::name>()));
  DCMT_RETURN_IF_ERROR(read_rows<Frame>(
      database, "ORDER BY id", [this](const Frame& frame) { frames.push_back(frame); },
      column<&FrameRow::id, &Frame::id>(), column<&FrameRow::file, &Frame::file>(),
      column<&FrameRow::function, &Frame::function>(), column<&FrameRow::line, &Frame::line>()));
  return read_rows<Stack>(
      database, "ORDER BY id", [this](const Stack& stack) { stacks.push_back(stack); },
      column<&StackRow::id, &Stack::id>(), column<&StackRow::parent, &Stack::parent>(),
      column<&StackRow::frame, &Stack::frame>());
}

Status TraceData::load_rows(Database& database) {
  DCMT_RETURN_IF_ERROR(load_texts(database));
  DCMT_RETURN_IF_ERROR(load_marks(database));
  DCMT_RETURN_IF_ERROR(load_censuses(database));
  DCMT_RETURN_IF_ERROR(read_rows<Diagnostic>(
      database, "ORDER BY id", [this](const Diagnostic& diagnostic) { diagnostics.push_back(diagnostic); },
      column<&DiagnosticRow::id, &Diagnostic::id>(),
      column<&DiagnosticRow::at>([](Diagnostic& diagnostic, const PointInTime& at) { diagnostic.seq = at.seq; }),
      column<&DiagnosticRow::code>(
          [this](Diagnostic& diagnostic, std::string_view code) { diagnostic.code = intern(printable(code)); }),
      column<&DiagnosticRow::text, &Diagnostic::text>()));
  DCMT_ASSIGN_OR_RETURN(owners, Owners::load(database));
  DCMT_ASSIGN_OR_RETURN(memory, ProcessMemory::load(database));
  DCMT_ASSIGN_OR_RETURN(forked, ForkedMemory::load(database));
  DCMT_ASSIGN_OR_RETURN(job, JobHistory::load(database));
  DCMT_ASSIGN_OR_RETURN(native, NativeMemory::load(database));
  DCMT_ASSIGN_OR_RETURN(watched, WatchedCounts::load(database));
  DCMT_ASSIGN_OR_RETURN(gpu_memory, GpuMemory::load(database));
  DCMT_ASSIGN_OR_RETURN(allocators, AllocatorHistory::load(database));
  DCMT_ASSIGN_OR_RETURN(streams, StreamHistory::load(database));
  DCMT_RETURN_IF_ERROR(load_losses(database));
  DCMT_RETURN_IF_ERROR(read_rows<SourceFile>(
      database, "ORDER BY path", [this](SourceFile& source) { sources.push_back(std::move(source)); },
      column<&SourceRow::path, &SourceFile::path>(),
      column<&SourceRow::text>([](SourceFile& source, std::string_view text) { source.text = text; })));
  DCMT_RETURN_IF_ERROR(read_rows<StringId>(
      database, "ORDER BY source_path",
      [this](StringId file) {
        if (generated_files.empty() || generated_files.back() != file) generated_files.push_back(file);
      },
      column<&SourceLineRow::source_path>([](StringId& file, StringId value) { file = value; })));
  return load_intervals(database);
}

}  // namespace dcmt::analyzer
