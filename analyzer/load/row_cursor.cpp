#include "analyzer/load/row_cursor.h"

namespace dcmt::analyzer {

Expected<bool> has_rows(Database& database, std::string_view sql) {
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
  return statement.step();
}

Expected<bool> has_table(Database& database, const std::string& table) {
  return has_rows(database, "SELECT 1 FROM sqlite_master WHERE name = '" + table + "'");
}

Expected<bool> has_column(Database& database, const std::string& table, const std::string& column) {
  return has_rows(database, "SELECT 1 FROM pragma_table_info('" + table + "') WHERE name = '" + column + "'");
}

}  // namespace dcmt::analyzer
