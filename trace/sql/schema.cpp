#include "trace/sql/schema.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/tables/tables.h"

namespace dcmt {
namespace {

// Views for people who query a trace; no reader here uses them.
constexpr std::string_view kIndexesAndViews = R"sql(
CREATE INDEX IF NOT EXISTS interval_from ON interval(from_seq);

CREATE VIEW IF NOT EXISTS release AS
  SELECT m.*, string.text AS operator_name FROM mark m LEFT JOIN string ON string.id = m.name WHERE m.kind = 'release';

CREATE VIEW IF NOT EXISTS allocated AS  -- the exact curve: bytes allocated right after each event; of an interval
  SELECT device, seq, ns, delta,        -- without rows its peak and its end
         SUM(delta) OVER (PARTITION BY device ORDER BY seq) AS bytes FROM (
    SELECT device, seq, ns, delta FROM (
      SELECT device, from_seq AS seq, from_ns AS ns, bytes AS delta FROM block
      UNION ALL SELECT device, to_seq, to_ns, -bytes FROM block WHERE to_seq IS NOT NULL) event
    WHERE NOT EXISTS (SELECT 1 FROM (SELECT kept FROM interval WHERE from_seq < event.seq ORDER BY from_seq DESC LIMIT 1)
                      WHERE kept IS NULL)
    UNION ALL SELECT device, peak_seq, peak_ns, peak_bytes - begin_bytes
      FROM interval_curve JOIN interval ON interval.id = interval WHERE kept IS NULL
    UNION ALL SELECT device, to_seq, to_ns, end_bytes - peak_bytes
      FROM interval_curve JOIN interval ON interval.id = interval WHERE kept IS NULL);

CREATE VIEW IF NOT EXISTS holder AS
  SELECT e.id, e.census, e.storage, e.held, e.holder, n.text AS name, fn.text AS function, f.text AS file, e.line,
         a.text AS assignment, e.delete_line, e.return_line, mf.text AS model_file, e.model_line, mt.text AS model_text,
         e.confidence, e.from_seq, e.to_seq
  FROM edge e LEFT JOIN string n ON n.id = e.name LEFT JOIN string fn ON fn.id = e.function
  LEFT JOIN string f ON f.id = e.file LEFT JOIN string a ON a.id = e.assignment
  LEFT JOIN string mf ON mf.id = e.model_file LEFT JOIN string mt ON mt.id = e.model_text;

CREATE VIEW IF NOT EXISTS reference_change AS  -- who took and dropped references, under `run --watch`
  SELECT c.id AS seq, c.ns, w.subject, w.storage, w.tensor, c.before, c.after, c.thread, file.text AS file, frame.line,
         fn.text AS function, nf.text AS native_function, c.stack, c.native, w.id AS watched
  FROM count_change c JOIN watched_count w ON w.id = c.watched
  LEFT JOIN stack s ON s.id = c.stack LEFT JOIN frame ON frame.id = s.frame
  LEFT JOIN string file ON file.id = frame.file LEFT JOIN string fn ON fn.id = frame.function
  LEFT JOIN stack ns ON ns.id = c.native LEFT JOIN frame nframe ON nframe.id = ns.frame
  LEFT JOIN string nf ON nf.id = nframe.function;
)sql";

/// The columns as a file has them: those of a later schema after those of an earlier one, of one schema the generated
/// ones last.
std::vector<Column> in_file_order(std::vector<Column> columns) {
  std::ranges::stable_sort(columns, {},
                           [](const Column& each) { return std::pair(each.since, !each.generated.empty()); });
  return columns;
}

bool is_key_of_several(const Table& table) { return table.key.find(',') != std::string_view::npos; }

std::string definition(const Table& table, const Column& column) {
  const bool is_text = column.type == "text";
  std::string sql = column.name;
  if (column.type != "any") sql += is_text ? " TEXT" : " INTEGER";
  if (!column.generated.empty()) return sql + " AS (" + column.generated + ")";
  if (column.name == table.key) return sql + (is_text ? " PRIMARY KEY NOT NULL" : " PRIMARY KEY");
  return column.nullable || column.type == "any" ? sql : sql + " NOT NULL";
}

std::string versions(int version) {
  return "PRAGMA application_id = " + std::to_string(kApplicationId) +
         ";\nPRAGMA user_version = " + std::to_string(version) + ";\n";
}

}  // namespace

std::vector<DeclaredTable> declared_tables() {
  std::vector<DeclaredTable> tables;
  const auto add = [&]<class Row>() { tables.push_back({Row::kTable, in_file_order(columns_of<Row>())}); };
  WrittenTables::each(add);
  add.operator()<PyramidRow>();
  return tables;
}

std::string create_table_sql(const DeclaredTable& table, int version, const std::string& prefix) {
  std::string columns;
  bool has_text_key = false;
  for (const Column& column : table.columns) {
    if (column.since > version) continue;
    columns += (columns.empty() ? "\n  " : ",\n  ") + definition(table.table, column);
    has_text_key |= column.name == table.table.key && column.type == "text";
  }
  if (is_key_of_several(table.table)) columns += ",\n  PRIMARY KEY(" + std::string(table.table.key) + ")";
  const bool has_row_id = !is_key_of_several(table.table) && !has_text_key;
  return "CREATE TABLE " + prefix + std::string(table.table.name) + "(" + columns + ")" +
         (has_row_id ? ";\n" : " WITHOUT ROWID;\n");
}

std::string create_sql(int version) {
  std::string sql;
  for (const DeclaredTable& table : declared_tables()) {
    if (table.table.since <= version && !table.table.at_finish) sql += create_table_sql(table, version);
  }
  return sql.append(kIndexesAndViews) + versions(version);
}

Expected<int> schema_version(Database& database) {
  int version = 0;
  DCMT_RETURN_IF_ERROR(each_row(database, "PRAGMA user_version",
                                [&](const Statement& row) { version = static_cast<int>(row.integer(0)); }));
  return version;
}

Status bring_up_to_date(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const int version, schema_version(database));
  if (version == kSchemaVersion) return {};
  std::string sql;
  for (const DeclaredTable& table : declared_tables()) {
    if (table.table.at_finish) continue;
    const std::string name(table.table.name);
    std::set<std::string, std::less<>> there;
    DCMT_RETURN_IF_ERROR(each_row(database, "SELECT name FROM pragma_table_xinfo('" + name + "')",
                                  [&](const Statement& row) { there.emplace(row.text(0)); }));
    if (there.empty()) {
      sql += create_table_sql(table);
      continue;
    }
    for (const Column& column : table.columns) {
      if (there.contains(column.name)) continue;
      sql += "ALTER TABLE " + name + " ADD COLUMN " + definition(table.table, column) + ";\n";
    }
  }
  sql.append(kIndexesAndViews);
  const Status changed = database.execute("BEGIN IMMEDIATE;\n" + sql + versions(kSchemaVersion) + "COMMIT;");
  // A failed script leaves its transaction open. A failing rollback is ignored: nothing else can be done.
  if (!changed.ok()) static_cast<void>(database.execute("ROLLBACK"));
  return changed;
}

}  // namespace dcmt
