// Reads rows of a trace column by column and checks each value: a trace is untrusted data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/printable.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/limits.h"
#include "trace/tables/point.h"

namespace dcmt::analyzer {

/// Reads the columns of a row in order. A value that no recorder writes marks the trace as damaged.
class Cursor {
 public:
  explicit Cursor(const Statement& row) : row_(row) {}

  void begin_row() { column_ = 0; }
  /// False after an invalid row, or if the counts of all rows together exceed the limit for sums.
  [[nodiscard]] bool makes_sense() const { return makes_sense_ && total_ <= kLargest; }

  /// Any number, without a check: an address, a key.
  std::int64_t any() { return row_.integer(column_++); }
  std::optional<std::int64_t> optional_any() { return row_.optional_integer(column_++); }
  std::int64_t integer() { return counted(checked(any(), -kLargestCount, kLargestCount)); }
  std::string_view text() { return row_.text(column_++); }
  /// A text of the table `string`.
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
  /// Columns of the tables that grow with the run, in their stored form (trace/sql/0001.sql). Reading SQLite's
  /// generated columns instead costs a sixth more CPU.
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
  std::int64_t total_ = 0;  ///< sum of all counts so far
};

/// Calls read(Cursor&) for each row of a statement. With a stretch, the statement's parameters are the ends of the
/// stretch. Fails with kBadInput at the first invalid row.
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

[[nodiscard]] Expected<bool> has_rows(Database& database, std::string_view sql);
/// False if the trace's schema does not have the table, or the column, yet.
[[nodiscard]] Expected<bool> has_table(Database& database, const std::string& table);
[[nodiscard]] Expected<bool> has_column(Database& database, const std::string& table, const std::string& column);

/// The value that a word of a column stands for.
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

}  // namespace dcmt::analyzer
