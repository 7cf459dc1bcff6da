// Writes rows to statements and reads them, column by column as their tables declare them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/kept.h"
#include "trace/tables/column.h"
#include "trace/tables/columns.h"
#include "trace/tables/point.h"

namespace dcmt {

/// Binds the columns of a row to the parameters of insert_sql(), one after the other. Texts are not copied: they must
/// live until the statement has run.
template <class Row>
class RowBinder {
 public:
  /// @param first  number of the row's first parameter
  RowBinder(Statement& statement, const Row& row, int first = 1) : statement_(statement), row_(row), next_(first) {}

  void put(const Cell& /*form*/, std::int64_t number) { statement_.bind(next_++, number); }
  void put(const Cell& /*form*/, std::optional<std::int64_t> number) { statement_.bind(next_++, number); }
  void put(const Cell& form, bool flag) { put(form, std::int64_t{flag}); }
  void put(const Cell& /*form*/, std::string_view text) { statement_.bind_static(next_++, text); }
  void put(const Cell& form, const std::optional<std::string>& text) {
    put(OrNull{form}, text ? std::string_view(*text) : std::string_view());
  }
  void put(const Cell& form, const std::variant<std::int64_t, std::string_view>& value) {
    std::visit([&](const auto& of) { put(form, of); }, value);
  }
  void put(const OrNull& /*form*/, std::int64_t number) { or_null(number, number != 0); }
  void put(const OrNull& /*form*/, std::string_view text) {
    if (text.empty()) {
      statement_.bind_null(next_++);
    } else {
      statement_.bind_static(next_++, text);
    }
  }
  void put(const OrNull& form, Kept kept) { put(form, text_of(kept)); }
  void put(const Gpu& /*form*/, const auto& gpu) { statement_.bind(next_++, gpu); }
  void put(const Back& /*form*/, RowId other) { or_null(row_.id - other, other != 0); }
  void put(const NearPlace& /*form*/, const Place& place) {
    statement_.bind(next_++, place.thread);
    or_null(row_.id - place.operator_id, place.operator_id != 0);
    or_null(place.stack, place.stack != 0);
  }
  void put(const Lifetime& /*form*/, const Span& span) {
    statement_.bind(next_++, row_.id - span.from.seq);
    or_null(span.to.seq - span.from.seq, span.to.set());
    statement_.bind(next_++, span.from.ns);
    or_null(span.to.ns - span.from.ns, span.to.set());
  }
  void put(const Scope& /*form*/, std::string_view scope) {
    statement_.bind(next_++, std::int64_t{scope == "function" ? 0 : scope == "backward" ? 1 : 2});
  }
  void put(const FirstStay& /*form*/, RowId object) { or_null(object, object != 0 && object != row_.id); }
  void put(const Wait& /*form*/, const Point& done) {
    or_null(done.set() ? done.seq - row_.span.to.seq : 0, row_.waits);
    or_null(done.set() ? done.ns - row_.span.to.ns : 0, row_.waits);
  }
  void put(const WholePlace& /*form*/, const Place& place) {
    statement_.bind(next_++, place.thread);
    or_null(place.operator_id, place.operator_id != 0);
    or_null(place.stack, place.stack != 0);
  }
  void put(const FromTo& /*form*/, const Span& span) {
    statement_.bind(next_++, span.from.seq);
    or_null(span.to.seq, span.to.set());
    statement_.bind(next_++, span.from.ns);
    or_null(span.to.ns, span.to.set());
  }
  void put(const At& form, const Point& at) {
    or_null(at.seq, !form.or_null || at.set());
    or_null(at.ns, !form.or_null || at.set());
  }

  [[nodiscard]] int next() const { return next_; }

 private:
  void or_null(std::int64_t number, bool is_there) {
    if (is_there) {
      statement_.bind(next_++, number);
    } else {
      statement_.bind_null(next_++);
    }
  }

  Statement& statement_;
  const Row& row_;
  int next_;
};

/// Returns the number of the parameter after the row's.
template <class Row>
int bind_row(Statement& insert, const Row& row, int first = 1) {
  RowBinder<Row> binder(insert, row, first);
  Row::describe([&](auto member, const auto& form) __attribute__((always_inline)) { binder.put(form, row.*member); });
  return binder.next();
}

template <class Row>
Status insert_row(Statement& insert, const Row& row) {
  bind_row(insert, row);
  return insert.run();
}

/// Reads the columns of select_sql(), one after the other. A text is valid until the statement's next step, unless its
/// column has words: those are static.
template <class Row>
class RowReader {
 public:
  RowReader(const Statement& statement, Row& row) : statement_(statement), row_(row) {}

  void take(const Cell& /*form*/, std::int64_t& number) { number = statement_.integer(next_++); }
  void take(const Cell& /*form*/, std::optional<std::int64_t>& number) {
    number = statement_.optional_integer(next_++);
  }
  void take(const Cell& /*form*/, bool& flag) { flag = statement_.integer(next_++) != 0; }
  void take(const Cell& form, std::string_view& text) {
    text = statement_.text(next_++);
    if (form.words.empty()) return;
    const auto word = std::ranges::find(form.words, text);
    text = word != form.words.end() ? *word : std::string_view();
  }
  void take(const Cell& /*form*/, std::optional<std::string>& text) {
    if (const std::string_view read = statement_.text(next_++); !read.empty()) text = std::string(read);
  }
  void take(const Cell& /*form*/, Kept& kept) { kept = kept_of(statement_.text(next_++)); }
  void take(const Gpu& /*form*/, std::int64_t& gpu) { gpu = statement_.integer(next_++); }
  void take(const Gpu& /*form*/, std::optional<std::int64_t>& gpu) { gpu = statement_.optional_integer(next_++); }
  void take(const Back& /*form*/, RowId& other) { other = back(); }
  void take(const NearPlace& /*form*/, Place& place) {
    place.thread = statement_.optional_integer(next_++);
    place.operator_id = back();
    place.stack = statement_.integer(next_++);
  }
  void take(const Lifetime& /*form*/, Span& span) {
    span.from.seq = row_.id - statement_.integer(next_++);
    const std::optional<std::int64_t> length = statement_.optional_integer(next_++);
    span.from.ns = statement_.integer(next_++);
    const std::int64_t ns = statement_.integer(next_++);
    if (length) span.to = {span.from.seq + *length, span.from.ns + ns};
  }
  void take(const Scope& /*form*/, std::string_view& scope) {
    const std::int64_t code = statement_.integer(next_++);
    scope = code == 0 ? "function" : code == 1 ? "backward" : "user";
  }
  void take(const FirstStay& /*form*/, RowId& object) {
    object = statement_.optional_integer(next_++).value_or(row_.id);
  }
  void take(const Wait& /*form*/, Point& done) {
    const std::optional<std::int64_t> length = statement_.optional_integer(next_++);
    const std::int64_t ns = statement_.integer(next_++);
    row_.waits = length.has_value();
    if (length.value_or(0) > 0) done = {row_.span.to.seq + *length, row_.span.to.ns + ns};
  }
  void take(const WholePlace& /*form*/, Place& place) {
    place.thread = statement_.optional_integer(next_++);
    place.operator_id = statement_.integer(next_++);
    place.stack = statement_.integer(next_++);
  }
  void take(const FromTo& /*form*/, Span& span) {
    span.from.seq = statement_.integer(next_++);
    span.to.seq = statement_.integer(next_++);
    span.from.ns = statement_.integer(next_++);
    span.to.ns = statement_.integer(next_++);
  }
  void take(const At& /*form*/, Point& at) {
    at.seq = statement_.integer(next_++);
    at.ns = statement_.integer(next_++);
  }

 private:
  RowId back() {
    const std::optional<std::int64_t> distance = statement_.optional_integer(next_++);
    return distance ? row_.id - *distance : 0;
  }

  const Statement& statement_;
  Row& row_;
  int next_ = 0;
};

/// The row that a statement of select_sql() is at.
template <class Row>
Row read_row(const Statement& statement) {
  Row row;
  RowReader<Row> reader(statement, row);
  Row::describe([&](auto member, const auto& form) { reader.take(form, row.*member); });
  return row;
}

/// The rows of a table whose schema is this build's.
/// @param which  "WHERE …", "ORDER BY …"; may be empty
template <class Row>
std::string select_rows_sql(std::string_view which) {
  return (select_sql(Row::kTable, columns_of<Row>()) + " ").append(which);
}

/// Calls visit(const Row&) for these rows.
template <class Row, class Visit>
Status each_row_of(Database& database, std::string_view which, const Visit& visit) {
  return each_row(database, select_rows_sql<Row>(which),
                  [&](const Statement& statement) { visit(read_row<Row>(statement)); });
}

}  // namespace dcmt
