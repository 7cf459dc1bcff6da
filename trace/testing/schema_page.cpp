#include "trace/testing/schema_page.h"

#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include "trace/sql/schema.h"
#include "trace/tables/tables.h"

namespace dcmt::testing {
namespace {

constexpr std::string_view kBegin = "| `", kHeading = " | type | meaning |";

/// The name of the table that begins with this line; empty: none does.
std::string table_of(std::string_view line) {
  if (!line.starts_with(kBegin) || !line.ends_with(kHeading)) return {};
  line.remove_prefix(kBegin.size());
  return std::string(line.substr(0, line.find('`')));
}

/// Columns in the order of the declaration; distances are left out.
std::string declared(const Table& table, const std::vector<Column>& columns) {
  std::string text(kBegin);
  text.append(table.name).append("`");
  if (table.since > 1) text += ", from schema " + std::to_string(table.since);
  text.append(kHeading).append("\n|---|---|---|\n");
  for (const Column& column : columns) {
    if (column.is_distance) continue;
    std::string meaning = column.meaning;
    if (column.since > table.since) {
      meaning += (meaning.empty() ? "from schema " : "; from schema ") + std::to_string(column.since);
    }
    text += "| `" + column.name + "` | " + column.type + " | " + meaning + (meaning.empty() ? "|\n" : " |\n");
  }
  return text;
}

}  // namespace

std::string with_declared_tables(const std::string& page) {
  std::map<std::string, std::string> tables;  // by name
  const auto add = [&]<class Row>() {
    tables[std::string(Row::kTable.name)] = declared(Row::kTable, columns_of<Row>());
  };
  WrittenTables::each(add);
  add.operator()<PyramidRow>();
  std::string result;
  bool is_inside = false;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (const auto table = tables.find(table_of(line)); table != tables.end()) {
      result += table->second;
      tables.erase(table);
      is_inside = true;
    } else if (!is_inside || !line.starts_with('|')) {
      is_inside = false;
      result += line + "\n";
    }
  }
  for (const auto& [name, table] : tables) result += "\n" + table;
  return result;
}

}  // namespace dcmt::testing
