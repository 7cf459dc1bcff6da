// Reads columns of a trace's tables into rows of the analyzer, and checks each value: a trace is untrusted data.
//
// read_rows() gets a list of columns, each with the place of its value:
//   column<&StorageRow::bytes>(&Storage::bytes)
// The first names a member of a declared table (trace/tables), the second a member of the row that is read, or a
// function that gets this row and the value. The declaration says how the member is stored and since which schema; the
// type of the place says which values make sense.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/maybe.h"
#include "analyzer/load/trace_rows.h"
#include "trace/base/printable.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/limits.h"
#include "trace/sql/schema.h"
#include "trace/tables/columns.h"
#include "trace/tables/tables.h"

namespace dcmt::analyzer {

/// Any number, without a check: an address, a key.
struct Any {
  std::int64_t value = 0;
};
/// A number of which sums are not taken.
struct Uncounted {
  std::int64_t value = 0;
};
/// A text of the table `string`, which is not longer than a recorder's.
struct NameText {
  std::string_view text;
};
/// A point in time; of a wait, its length.
struct PointInTime {
  Sequence seq;
  TimeNs ns;
};

/// Reads the columns of a row in order. A value that no recorder writes marks the trace as damaged.
class Cursor {
 public:
  explicit Cursor(const Statement& row) : row_(row) {}

  void begin_row() { column_ = 0; }
  /// False after an invalid row, or if the counts of all rows together exceed the limit for sums.
  [[nodiscard]] bool makes_sense() const { return makes_sense_ && total_ <= kLargest; }

  // The next column, or columns.
  void read(const Cell& form, std::int64_t& number) {
    const std::int64_t value = integer();
    if (form.type == "address") {
      number = value;
    } else {
      const std::int64_t most = form.type == "bytes" ? kLargest : kLargestCount;
      number = counted(checked(value, -most, most));
    }
  }
  void read(const Cell& /*form*/, std::optional<std::int64_t>& number) {
    const std::optional<std::int64_t> value = optional();
    if (value) number = counted(checked(*value, -kLargestCount, kLargestCount));
  }
  template <class Tag, class Value>
  void read(const Cell& /*form*/, TypedNumber<Tag, Value>& number) {
    number = id<TypedNumber<Tag, Value>>(integer());
  }
  void read(const Cell& /*form*/, ThreadId& thread) { thread = this->thread(); }
  void read(const Cell& /*form*/, Bytes& bytes) { bytes = Bytes(counted(checked(integer(), 0, kLargestCount))); }
  void read(const Cell& /*form*/, std::optional<Bytes>& bytes) {
    const std::optional<std::int64_t> value = optional();
    if (value) bytes = Bytes(counted(checked(*value, 0, kLargestCount)));
  }
  template <class Value>
  void read(const Cell& form, Maybe<Value>& place) {
    std::optional<Value> value;
    read(form, value);
    place = value;
  }
  /// A stream.
  void read(const Cell& /*form*/, std::int32_t& stream) {
    const std::optional<std::int64_t> value = optional();
    if (value) stream = static_cast<std::int32_t>(checked(*value, 0, std::numeric_limits<std::int32_t>::max()));
  }
  void read(const Cell& /*form*/, Any& any) { any.value = integer(); }
  void read(const Cell& /*form*/, std::optional<Any>& any) {
    const std::optional<std::int64_t> value = optional();
    if (value) any = Any{*value};
  }
  void read(const Cell& /*form*/, Uncounted& number) { number.value = checked(integer(), -kLargest, kLargest); }
  void read(const Cell& /*form*/, bool& flag) { flag = checked(integer(), -kLargestCount, kLargestCount) != 0; }
  void read(const Cell& /*form*/, std::string_view& text) { text = row_.text(column_++); }
  void read(const Cell& form, NameText& name) {
    read(form, name.text);
    if (name.text.size() > kLongestText) makes_sense_ = false;
  }
  void read(const Cell& /*form*/, Kept& kept) { kept = kept_of(row_.text(column_++)); }
  void read(const Gpu& /*form*/, std::optional<std::int64_t>& gpu) {
    const std::optional<std::int64_t> value = optional();
    gpu = value ? std::optional(checked(*value, 0, kMostGpus - 1)) : std::nullopt;
  }
  template <class Id>
  void read(const Back& /*form*/, Id& id) {
    id = back<Id>();
  }
  void read(const NearPlace& /*form*/, Actor& actor) {
    actor.thread = thread();
    actor.op = back<OperatorId>();
    actor.stack = id<StackId>(integer());
  }
  void read(const WholePlace& /*form*/, Actor& actor) {
    actor.thread = thread();
    actor.op = id<OperatorId>(integer());
    actor.stack = id<StackId>(integer());
  }
  void read(const Lifetime& /*form*/, Span& span) {
    span.from_seq = Sequence(checked(row_id_ - distance(integer()), 0, kLargest));
    const std::optional<std::int64_t> sequences = optional();
    span.from_ns = id<TimeNs>(integer());
    const std::int64_t ns = checked(integer(), 0, kLargest);
    if (sequences) {
      span.to_seq = Sequence(span.from_seq.value + checked(*sequences, 0, kLargest));
      span.to_ns = TimeNs(span.from_ns.value + ns);
    }
  }
  void read(const FromTo& /*form*/, Span& span) {
    span.from_seq = id<Sequence>(integer());
    span.to_seq = id<Sequence>(integer());
    span.from_ns = id<TimeNs>(integer());
    span.to_ns = id<TimeNs>(integer());
    if (span.ended() && (span.to_seq < span.from_seq || span.to_ns < span.from_ns)) makes_sense_ = false;
  }
  void read(const At& /*form*/, PointInTime& at) {
    at.seq = id<Sequence>(integer());
    at.ns = id<TimeNs>(integer());
  }
  void read(const Scope& /*form*/, OperatorScope& scope) {
    scope = static_cast<OperatorScope>(std::clamp<std::int64_t>(integer(), 0, 2));
  }
  void read(const FirstStay& /*form*/, TensorId& object) {
    object = id<TensorId>(integer());
    if (!object.valid()) object = TensorId(row_id_);
  }
  /// How long after the free.
  void read(const Wait& /*form*/, PointInTime& length) {
    length.seq = id<Sequence>(integer());
    length.ns = id<TimeNs>(integer());
  }

 private:
  std::int64_t integer() {
    const std::int64_t value = row_.integer(column_);
    if (column_++ == 0) row_id_ = value;
    return value;
  }
  std::optional<std::int64_t> optional() { return row_.optional_integer(column_++); }
  template <class Id>
  Id id(std::int64_t value) {
    using Value = decltype(Id::value);
    return Id(
        static_cast<Value>(checked(value, 0, std::min<std::int64_t>(kLargest, std::numeric_limits<Value>::max()))));
  }
  template <class Id>
  Id back() {
    const std::optional<std::int64_t> value = optional();
    return value ? id<Id>(row_id_ - distance(*value)) : Id();
  }
  ThreadId thread() {
    const std::optional<std::int64_t> value = optional();
    return value ? id<ThreadId>(*value) : kNoThread;
  }
  std::int64_t distance(std::int64_t value) { return checked(value, -kLargest, kLargest); }
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
  std::int64_t row_id_ = 0;  ///< the row's first value
  bool makes_sense_ = true;
  std::int64_t total_ = 0;  ///< sum of all counts so far
};

/// A member of a declared table, and the place of its value in the row that is read: a member, or a function.
template <auto kMember, class Place>
struct Wanted {
  Place place;
  bool is_read = true;

  /// If not `condition`, the value is absent.
  [[nodiscard]] Wanted when(bool condition) const { return {place, condition}; }
};

template <auto kPlace>
struct MemberPlace {};

template <auto kMember, auto kPlace>
[[nodiscard]] Wanted<kMember, MemberPlace<kPlace>> column() {
  return {};
}
/// @param place  a function of the row that is read, and of the value; its type says which values make sense
template <auto kMember, class Function>
[[nodiscard]] Wanted<kMember, Function> column(Function place) {
  return {std::move(place)};
}

/// Which columns of which schema a statement selects.
class Selection {
 public:
  Selection(const Table& table, int version) : table_(table), version_(version) {}

  void add(const Table& table, const Columns& columns, bool is_read);
  /// @param which  "JOIN …", "WHERE …", "ORDER BY …"; may be empty
  [[nodiscard]] std::string sql(std::string_view which) const;

 private:
  const Table& table_;
  int version_;
  std::string names_;
};

[[nodiscard]] Error damaged_row(const Database& database, const Table& table, const Statement& row);

template <class Function>
struct FunctionValue : FunctionValue<decltype(&Function::operator())> {};
template <class Function, class Row, class Value>
struct FunctionValue<void (Function::*)(Row&, Value) const> {
  using Type = std::remove_cvref_t<Value>;
};

template <class Row, auto kMember, class Place>
void read_column(Cursor& in, Row& row, const Wanted<kMember, Place>& wanted) {
  typename FunctionValue<Place>::Type value{};
  in.read(kFormOf<kMember>, value);
  wanted.place(row, value);
}
template <class Row, auto kMember, auto kPlace>
void read_column(Cursor& in, Row& row, const Wanted<kMember, MemberPlace<kPlace>>& /*wanted*/) {
  in.read(kFormOf<kMember>, row.*kPlace);
}

/// Calls visit(Row&) for each row of the table of the first column. A table that the trace's schema does not have yet
/// has no rows, and values of columns that it does not have are absent. If a column is stored as a distance, the first
/// column must be the id. Fails with kBadInput at the first invalid row.
/// @param which    "JOIN …", "WHERE …", "ORDER BY …"
/// @param stretch  the values of two parameters in `which`
template <class Row, class Visit, auto kFirst, class Place, class... More>
Status read_rows(Database& database, std::string_view which, std::optional<Stretch> stretch, const Visit& visit,
                 const Wanted<kFirst, Place>& first, const More&... more) {
  const Table& table = TableOf<kFirst>::kTable;
  DCMT_ASSIGN_OR_RETURN(const int version, schema_version(database));
  if (version < table.since) return {};
  Selection selection(table, version);
  const auto select = [&]<auto kMember, class Any>(const Wanted<kMember, Any>& wanted) {
    selection.add(TableOf<kMember>::kTable, columns_of_member<kMember>(), wanted.is_read);
  };
  select(first);
  (select(more), ...);
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(selection.sql(which)));
  if (stretch) {
    statement.bind(1, stretch->first);
    statement.bind(2, stretch->last);
  }
  for (Cursor in(statement);;) {
    DCMT_ASSIGN_OR_RETURN(const bool more_rows, statement.step());
    if (!more_rows) return {};
    in.begin_row();
    Row row;
    read_column(in, row, first);
    (read_column(in, row, more), ...);
    visit(row);
    if (!in.makes_sense()) return damaged_row(database, table, statement);
  }
}
template <class Row, class Visit, auto kFirst, class Place, class... More>
Status read_rows(Database& database, std::string_view which, const Visit& visit, const Wanted<kFirst, Place>& first,
                 const More&... more) {
  return read_rows<Row>(database, which, std::nullopt, visit, first, more...);
}
template <class Row, class Visit, auto kFirst, class Place, class... More>
Status read_rows(Database& database, const Stretch& stretch, const Visit& visit, const Wanted<kFirst, Place>& first,
                 const More&... more) {
  return read_rows<Row>(database, "WHERE id BETWEEN ? AND ? ORDER BY id", stretch, visit, first, more...);
}

/// Whether the trace's schema has the columns of a member.
template <auto kMember>
[[nodiscard]] Expected<bool> has(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const int version, schema_version(database));
  return version >= columns_of_member<kMember>().all().front().since;
}

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

[[nodiscard]] inline Subject subject_named(std::string_view text) {
  constexpr Name<Subject> kSubjects[] = {
      {"storage", Subject::kStorage}, {"tensor", Subject::kTensor}, {"object", Subject::kObject}};
  return named(text, kSubjects, Subject::kStorage);
}

}  // namespace dcmt::analyzer
