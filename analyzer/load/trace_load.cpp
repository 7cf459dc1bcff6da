// Reads a trace into columns.
#include <algorithm>
#include <string>
#include <thread>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/load_lifetimes.h"
#include "analyzer/load/row_cursor.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/printable.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMostThreads = 8;  ///< more threads only wait for memory
/// Each thread opens a connection, which reads the schema: that costs as much as some thousand rows.
constexpr std::int64_t kRecordsOfAThread = 10'000;

/// True if blocks may have streams.
Expected<bool> has_streams(Database& database) {
  for (const auto& [table, column] : {std::pair("block", "stream"), {"interval_curve", "active_peak_bytes"}}) {
    const Expected<bool> known = has_column(database, table, column);  // not schema 1
    if (!known.ok() || !*known) return known;
  }
  return has_rows(database, "SELECT 1 FROM interval_curve WHERE active_peak_bytes IS NOT NULL LIMIT 1");
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
  DCMT_ASSIGN_OR_RETURN(const bool has_owners, has_column(database, "block", "owner"));
  devices.has_owners = has_owners;
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
  return read_rows(database, "SELECT key, value, typeof(value), value FROM meta", [&](Cursor& in) {
    const std::string key(in.text());
    MetaValue value;
    // Consists of lines with fields. Each field is escaped when it is read.
    value.text = key == meta::kOrigins ? in.text() : printable(in.text());
    value.is_integer = in.text() == "integer";
    if (value.is_integer) value.integer = in.meta_integer();
    meta.emplace(key, std::move(value));
  });
}

Status TraceData::load_texts(Database& database) {
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
  return read_rows(database, "SELECT id, parent, frame FROM stack ORDER BY id", [&](Cursor& in) {
    Stack stack;
    stack.id = in.id<StackId>();
    stack.parent = in.id<StackId>();
    stack.frame = in.id<FrameId>();
    stacks.push_back(stack);
  });
}

Status TraceData::load_rows(Database& database) {
  DCMT_RETURN_IF_ERROR(load_texts(database));
  DCMT_RETURN_IF_ERROR(load_marks(database));
  DCMT_RETURN_IF_ERROR(load_censuses(database));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT id, seq, code, text FROM diagnostic ORDER BY id", [&](Cursor& in) {
    Diagnostic diagnostic;
    diagnostic.id = in.id<DiagnosticId>();
    diagnostic.seq = in.id<Sequence>();
    diagnostic.code = intern(printable(in.text()));
    diagnostic.text = in.id<StringId>();
    diagnostics.push_back(diagnostic);
  }));
  DCMT_ASSIGN_OR_RETURN(owners, Owners::load(database));
  DCMT_ASSIGN_OR_RETURN(memory, ProcessMemory::load(database));
  DCMT_ASSIGN_OR_RETURN(gpu_memory, GpuMemory::load(database));
  DCMT_RETURN_IF_ERROR(load_losses(database));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT path, text FROM source ORDER BY path", [&](Cursor& in) {
    const auto file = in.id<StringId>();
    sources.push_back({file, std::string(in.text())});
  }));
  DCMT_RETURN_IF_ERROR(read_rows(database, "SELECT DISTINCT source_path FROM source_line ORDER BY source_path",
                                 [&](Cursor& in) { generated_files.push_back(in.id<StringId>()); }));
  return load_intervals(database);
}

}  // namespace dcmt::analyzer
