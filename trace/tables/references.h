// Reference counts that were watched, under `run --watch` (docs/decisions/watching.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// A reference count, as long as it was watched.
struct WatchedCountRow {
  RowId id = 0;
  std::string_view subject;  ///< static text
  RowId storage = 0;
  RowId tensor = 0;
  std::string_view how;  ///< static text
  std::int64_t first = 0, last = 0;
  std::int64_t changes = 0, lost = 0;
  bool ended = false;
  Span span;

  static constexpr std::string_view kSubjects[] = {"storage", "tensor", "object"};
  static constexpr std::string_view kHow[] = {"watchpoint", "operator"};

  static constexpr Table kTable{
      .name = "watched_count", .meaning = "A reference count, as long as it was watched.", .since = 15};
  static constexpr void describe(auto&& column) {
    column(&WatchedCountRow::id, Cell{"id", "id", "sequence of the begin"});
    column(&WatchedCountRow::subject, Cell{"subject", "text", "`object`: the tensor's Python object", 1, kSubjects});
    column(&WatchedCountRow::storage, OrNull{"storage", "storage", ""});
    column(&WatchedCountRow::tensor, OrNull{"tensor", "tensor", "NULL for a storage's count"});
    column(&WatchedCountRow::how,
           Cell{"how", "text", "`operator`: it was only read at the begin and the end of operators", 1, kHow});
    column(&WatchedCountRow::first, Cell{"first", "number", "the count at the begin"});
    column(&WatchedCountRow::last, Cell{"last", "number", "as it was read at the end"});
    column(&WatchedCountRow::changes, Cell{"changes", "number", "rows of `count_change`"});
    column(&WatchedCountRow::lost,
           Cell{"lost", "number", "changes that have no row, at least: 0 if the story is complete"});
    column(&WatchedCountRow::ended, Cell{"ended", "flag", "1: the object ended, or left the storage"});
    column(&WatchedCountRow::span, FromTo{});
  }
};

/// A change of a watched reference count.
struct CountChangeRow {
  RowId id = 0;  ///< sequence
  std::int64_t ns = 0;
  RowId watched = 0;
  std::int64_t before = 0, after = 0;
  Place where;
  RowId native = 0;

  static constexpr Table kTable{
      .name = "count_change", .meaning = "A change of a watched reference count.", .since = 15};
  static constexpr void describe(auto&& column) {
    column(&CountChangeRow::id, Cell{"id", "seq", ""});
    column(&CountChangeRow::ns, Cell{"ns", "ns", ""});
    column(&CountChangeRow::watched, Cell{"watched", "watched_count", ""});
    column(&CountChangeRow::before, Cell{"before", "number", ""});
    column(&CountChangeRow::after, Cell{"after", "number", ""});
    column(&CountChangeRow::where, WholePlace{});
    column(&CountChangeRow::native, OrNull{"native", "stack", "C++ functions; their files are libraries"});
  }
};

}  // namespace dcmt
