#include "convert/trim/trim.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "convert/copy/copy_rows.h"
#include "trace/base/shell_words.h"
#include "trace/sql/schema.h"
#include "trace/sql/trace_file.h"
#include "trace/tables/lifetimes.h"
#include "trace/tables/texts.h"

namespace dcmt::convert {
namespace {

// ?1 is the begin of the window (excluded), ?2 its end (included).
constexpr const char* kLifetime = "from_seq <= ?2 AND (to_seq IS NULL OR to_seq > ?1)";
// A block exists as long as another stream waits for it.
constexpr const char* kWaiting = " OR (from_seq <= ?2 AND (wait_seq_length = 0 OR done_seq > ?1))";
constexpr const char* kMark =
    "CASE WHEN kind IN ('step', 'phase', 'user') AND to_seq IS NOT from_seq"
    " THEN from_seq + (kind = 'step') <= ?2 AND (to_seq IS NULL OR to_seq > ?1)"
    " ELSE from_seq > ?1 AND from_seq <= ?2 END";
constexpr const char* kPoint = "id > ?1 AND id <= ?2";
/// By time: work of a GPU has no sequence.
constexpr const char* kWork =
    "to_ns >= (SELECT coalesce(max(to_ns), 0) FROM interval WHERE to_seq <= ?1)"
    " AND from_ns <= (SELECT min(to_ns) FROM interval WHERE to_seq >= ?2)";

class Trim {
 public:
  Trim(Database& source, Database& copy, const TrimWindow& window, const analyzer::Watch& watch)
      : source_(source), copy_(copy), window_(window), watch_(watch) {}

  Status run() {
    DCMT_RETURN_IF_ERROR(source_.execute("BEGIN"));
    const Status copied = copy_all();
    static_cast<void>(source_.execute("ROLLBACK"));
    return copied;
  }

 private:
  /// The rows of a table that the copy gets. Tables that are not named here are copied completely: they are small, or
  /// contain sums over the run.
  [[nodiscard]] std::string rows_of(std::string_view table, int version) const {
    if (table == "operator" || table == "storage" || table == "tensor") return kLifetime;
    if (table == "block") {
      const bool has_waits = version >= columns_of_member<&BlockRow::done>().all().front().since;
      return has_waits ? "(" + std::string(kLifetime) + ")" + kWaiting : kLifetime;
    }
    if (table == "mark") return kMark;
    if (table == "sample" || table == "edge") return "census IN (SELECT id FROM mark WHERE " + std::string(kMark) + ")";
    if (table == "owner" || table == "held" || table == "held_in") {
      return "storage IN (SELECT id FROM storage WHERE " + std::string(kLifetime) + ")";
    }
    if (table == "launches" || table == "oom" || table == "stream_call") return kPoint;
    if (table == "stream_use") return "call > ?1 AND call <= ?2";
    if (table == "gpu_work") return kWork;
    return "true";
  }

  Status copy_all() {
    DCMT_ASSIGN_OR_RETURN(const int version, schema_version(source_));
    const std::vector<DeclaredTable> tables = declared_tables();
    DCMT_RETURN_IF_ERROR(copy_.execute("BEGIN"));
    DCMT_RETURN_IF_ERROR(copy_meta());
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const Table& table = tables[i].table;
      const bool is_copied = !table.at_finish && table.name != MetaRow::kTable.name;
      if (is_copied) DCMT_RETURN_IF_ERROR(copy_table(tables[i], rows_of(table.name, version)));
      watch_.done(static_cast<double>(i + 1) / static_cast<double>(tables.size()));
    }
    // The user requested the rows of the window, whatever the recording was to keep.
    DCMT_ASSIGN_OR_RETURN(Statement kept,
                          copy_.prepare("UPDATE interval SET kept = CASE WHEN to_seq <= ?1 OR from_seq >= ?2 THEN NULL"
                                        " WHEN kept = 'all' THEN 'steps' ELSE kept END"));
    bind_window(kept);
    DCMT_RETURN_IF_ERROR(kept.run());
    return copy_.execute("COMMIT");
  }

  void bind_window(Statement& statement) const {
    statement.bind(1, window_.after.value);
    statement.bind(2, window_.to.value);
  }

  Status copy_meta() {
    DCMT_ASSIGN_OR_RETURN(Statement row, source_.prepare("SELECT key, value, typeof(value) = 'integer' FROM meta"));
    DCMT_ASSIGN_OR_RETURN(Statement insert, copy_.prepare("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)"));
    while (true) {
      DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
      if (!more) return {};
      insert.bind(1, row.text(0));
      if (row.integer(2) != 0) {
        insert.bind(2, row.integer(1));
      } else {
        insert.bind(2, row.text(1));
      }
      DCMT_RETURN_IF_ERROR(insert.run());
    }
  }

  Status copy_table(const DeclaredTable& table, const std::string& rows) {
    // Both parameters are bound, even if the condition does not need them.
    const RowCopy how{.where = "(" + rows + ") AND ?1 <= ?2",
                      .bind = [this](Statement& statement) { bind_window(statement); }};
    return copy_rows(source_, copy_, table, how, watch_);
  }

  Database& source_;
  Database& copy_;
  const TrimWindow& window_;
  const analyzer::Watch& watch_;
};

}  // namespace

Expected<TrimWindow> trim_window(const analyzer::TraceData& data, Sequence from, Sequence to) {
  if (from > to) return Error{ErrorCode::kUsage, data.path + ": the window ends before it begins."};
  TrimWindow window;
  bool kept = false;
  for (const analyzer::Interval& interval : data.intervals) {
    // Rows before the first interval belong to the first; rows after the last interval belong to the last.
    const bool first = &interval == &data.intervals.front();
    const bool last = &interval == &data.intervals.back();
    ++window.of;
    if (!(last || interval.span.to_seq >= from) || !(first || interval.span.from_seq < to)) continue;
    if (window.stretches++ == 0) window.after = interval.span.from_seq;
    window.to = interval.span.to_seq;
    window.steps += interval.steps;
    kept |= interval.kept != Kept::kNo;
  }
  if (window.stretches == 0) {
    return Error{ErrorCode::kUsage, data.path + ": this trace is one piece, without steps: nothing can be cut off it."};
  }
  if (!kept) {
    return Error{ErrorCode::kUsage, data.path +
                                        ": of that window there are only sums. Choose another; what was kept: "
                                        "dc-memtrace report " +
                                        shell_word(data.path)};
  }
  return window;
}

Status write_trimmed(Database& source, const TrimWindow& window, const std::string& path,
                     const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(Database copy, create_trace(path));
  DCMT_RETURN_IF_ERROR(Trim(source, copy, window, watch).run());
  return finish_trace(copy);
}

}  // namespace dcmt::convert
