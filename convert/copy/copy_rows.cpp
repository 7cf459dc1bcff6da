#include "convert/copy/copy_rows.h"

#include <vector>

namespace dcmt::convert {
namespace {

constexpr std::size_t kRowsBetweenChecks = 1 << 14;  // between checks of the watch

/// The columns that are stored, not generated, as far as the source's schema has them.
std::vector<StoredColumn> stored_columns(const DeclaredTable& table, int version) {
  std::vector<StoredColumn> columns;
  for (const Column& column : table.columns) {
    if (column.generated.empty() && column.since <= version) columns.push_back({column.name, column.type == "text"});
  }
  return columns;
}

}  // namespace

Status copy_rows(Database& source, Database& copy, const DeclaredTable& declared, const RowCopy& how,
                 const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(const int version, schema_version(source));
  const std::vector<StoredColumn> columns = stored_columns(declared, version);
  if (columns.empty()) return {};
  const std::string table(declared.table.name);
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
