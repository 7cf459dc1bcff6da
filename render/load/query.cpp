#include "render/load/query.h"

#include <algorithm>
#include <string_view>

#include "trace/base/printable.h"
#include "trace/sql/trace_file.h"

namespace dcmt::load {
namespace {

/// The maximum of characters shown in a cell.
constexpr std::size_t kMostLetters = 400;

/// Statements that open other files or change settings of SQLite are refused. Writing fails anyway: the file is
/// read-only.
bool is_question(std::string_view sql) {
  const std::size_t from = sql.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return false;
  std::string word;
  for (const char c : sql.substr(from)) {
    if (c >= 'A' && c <= 'Z') {
      word += static_cast<char>(c - 'A' + 'a');
    } else if (c >= 'a' && c <= 'z') {
      word += c;
    } else {
      break;
    }
  }
  return word == "select" || word == "with" || word == "values";
}

}  // namespace

Expected<QueryResult> run_query(const std::string& path, const std::string& sql, std::size_t most_rows,
                                const analyzer::Watch& watch) {
  if (!is_question(sql)) {
    return Error{ErrorCode::kUsage, "a question begins with SELECT or WITH; docs/schema.md has tables and examples."};
  }
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
  QueryResult result;
  for (int i = 0; i < statement.column_count(); ++i)
    result.columns.push_back(printable(std::string(statement.column_name(i))));
  while (true) {
    DCMT_RETURN_IF_ERROR(watch.check());
    DCMT_ASSIGN_OR_RETURN(const bool row, statement.step());
    if (!row) break;
    if (result.rows.size() == most_rows) {
      result.more = true;
      break;
    }
    std::vector<std::string>& cells = result.rows.emplace_back();
    for (int i = 0; i < statement.column_count(); ++i) {
      const std::string_view text = statement.text(i);
      cells.push_back(statement.is_null(i) ? "NULL" : printable(std::string(text.substr(0, kMostLetters))));
    }
  }
  return result;
}

}  // namespace dcmt::load
