#include "convert/copy/copy_rows.h"

#include <vector>

#include "analyzer/load/row_cursor.h"

namespace dcmt::convert {
namespace {

constexpr std::size_t kRowsBetweenChecks = 1 << 14;  // between checks of the watch

Expected<std::vector<StoredColumn>> stored_columns(Database& source, Database& copy, const std::string& table) {
  std::vector<StoredColumn> columns;
  DCMT_ASSIGN_OR_RETURN(Statement row,
                        copy.prepare("SELECT name, type FROM pragma_table_xinfo('" + table + "') WHERE hidden = 0"));
  while (true) {
    DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
    if (!more) return columns;
    const StoredColumn column{std::string(row.text(0)), row.text(1) == "TEXT"};
    DCMT_ASSIGN_OR_RETURN(const bool known, analyzer::has_column(source, table, column.name));
    if (known) columns.push_back(column);
  }
}

}  // namespace

Status copy_rows(Database& source, Database& copy, const std::string& table, const RowCopy& how,
                 const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(const std::vector<StoredColumn> columns, stored_columns(source, copy, table));
  if (columns.empty()) return {};
  std::string names, marks;
  for (const StoredColumn& column : columns) {
    names += (names.empty() ? "" : ", ") + column.name;
    marks += marks.empty() ? "?" : ", ?";
  }
  DCMT_ASSIGN_OR_RETURN(Statement row, source.prepare("SELECT " + names + " FROM " + table + " WHERE " + how.where));
  DCMT_ASSIGN_OR_RETURN(Statement insert,
                        copy.prepare("INSERT INTO " + table + "(" + names + ") VALUES(" + marks + ")"));
  how.bind(row);
  for (std::size_t count = 0;; ++count) {
    if (count % kRowsBetweenChecks == 0) DCMT_RETURN_IF_ERROR(watch.check());
    DCMT_ASSIGN_OR_RETURN(const bool more, row.step());
    if (!more) return {};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const int at = static_cast<int>(i);
      if (row.is_null(at)) {
        insert.bind_null(at + 1);
      } else if (columns[i].is_text) {
        insert.bind(at + 1, how.text(row.text(at)));
      } else {
        insert.bind(at + 1, how.number(columns[i], row.integer(at)));
      }
    }
    DCMT_RETURN_IF_ERROR(insert.run());
  }
}

}  // namespace dcmt::convert
