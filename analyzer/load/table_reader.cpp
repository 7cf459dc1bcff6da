#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {

void Selection::add(const Table& table, const Columns& columns, bool is_read) {
  for (const dcmt::Column& column : columns.all()) {
    if (!column.generated.empty()) continue;  // to read what is stored needs a sixth less CPU
    names_ += names_.empty() ? "" : ", ";
    names_ += is_read && column.since <= version_ ? std::string(table.name) + "." + column.name : "NULL";
  }
}

std::string Selection::sql(std::string_view which) const {
  return ("SELECT " + names_ + " FROM " + std::string(table_.name) + " ").append(which);
}

Error damaged_row(const Database& database, const Table& table, const Statement& row) {
  const std::string_view key = row.text(0);
  return {ErrorCode::kBadInput, database.path() + ": damaged: the row of " + std::string(table.name) + " with " +
                                    std::string(row.column_name(0)) + " " + printable(key) + " makes no sense."};
}

}  // namespace dcmt::analyzer
