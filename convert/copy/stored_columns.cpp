#include "convert/copy/stored_columns.h"

#include "analyzer/load/row_cursor.h"

namespace dcmt::convert {

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

}  // namespace dcmt::convert
