#include "collector/recorder/keep/private_state.h"

#include <vector>

namespace dcmt::recorder {

Expected<PrivateState> PrivateState::create(Database& database) {
  DCMT_RETURN_IF_ERROR(database.execute(
      "CREATE TABLE IF NOT EXISTS wire_id(kind INTEGER, wire INTEGER, id INTEGER, PRIMARY KEY(kind, wire, id))"
      " WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS wire_record(seq INTEGER PRIMARY KEY, ns INTEGER, thread INTEGER, resolved INTEGER,"
      " bytes BLOB);"
      "CREATE TABLE IF NOT EXISTS recorder_state(key TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;"));
  std::vector<Statement> statements;
  for (const std::string_view sql :
       {"INSERT OR IGNORE INTO wire_id VALUES(?,?,?)", "DELETE FROM wire_id WHERE kind = ? AND wire = ? AND id = ?",
        "INSERT OR REPLACE INTO wire_record VALUES(?,?,?,?,?)", "DELETE FROM wire_record WHERE seq = ?",
        "INSERT OR REPLACE INTO recorder_state VALUES(?,?)"}) {
    DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
    statements.push_back(std::move(statement));
  }
  return PrivateState(database, std::move(statements[0]), std::move(statements[1]), std::move(statements[2]),
                      std::move(statements[3]), std::move(statements[4]));
}

Status PrivateState::add_id(WireIdKind kind, std::uint64_t wire, RowId id) {
  add_id_.bind(1, static_cast<std::int64_t>(kind));
  add_id_.bind(2, static_cast<std::int64_t>(wire));
  add_id_.bind(3, id);
  return add_id_.run();
}

Status PrivateState::remove_id(WireIdKind kind, std::uint64_t wire, RowId id) {
  remove_id_.bind(1, static_cast<std::int64_t>(kind));
  remove_id_.bind(2, static_cast<std::int64_t>(wire));
  remove_id_.bind(3, id);
  return remove_id_.run();
}

Status PrivateState::each_id(const std::function<void(WireIdKind, std::uint64_t, RowId)>& visit) {
  return each_row(*database_, "SELECT kind, wire, id FROM wire_id", [&](const Statement& row) {
    visit(static_cast<WireIdKind>(row.integer(0)), static_cast<std::uint64_t>(row.integer(1)), row.integer(2));
  });
}

Status PrivateState::keep_record(const Point& at, std::uint32_t thread, RowId resolved, std::string_view bytes) {
  keep_.bind(1, at.seq);
  keep_.bind(2, at.ns);
  keep_.bind(3, std::int64_t{thread});
  keep_.bind(4, resolved);
  keep_.bind_blob(5, bytes);
  return keep_.run();
}

Status PrivateState::drop_record(std::int64_t seq) {
  drop_.bind(1, seq);
  return drop_.run();
}

Status PrivateState::each_record(
    const std::function<Status(const Point&, std::uint32_t, RowId, std::string_view)>& visit) {
  Status result;
  DCMT_RETURN_IF_ERROR(each_row(
      *database_, "SELECT seq, ns, thread, resolved, bytes FROM wire_record ORDER BY seq", [&](const Statement& row) {
        if (!result.ok()) return;
        result = visit({row.integer(0), row.integer(1)}, static_cast<std::uint32_t>(row.integer(2)), row.integer(3),
                       row.blob(4));
      }));
  return result;
}

Status PrivateState::set(std::string_view key, std::int64_t value) {
  set_.bind(1, key);
  set_.bind(2, value);
  return set_.run();
}

Expected<std::map<std::string, std::int64_t, std::less<>>> PrivateState::values() {
  std::map<std::string, std::int64_t, std::less<>> values;
  DCMT_RETURN_IF_ERROR(each_row(*database_, "SELECT key, value FROM recorder_state",
                                [&](const Statement& row) { values.emplace(row.text(0), row.integer(1)); }));
  return values;
}

Status PrivateState::drop() {
  return database_->execute(
      "DROP TABLE IF EXISTS wire_id; DROP TABLE IF EXISTS wire_record; DROP TABLE IF EXISTS recorder_state;");
}

}  // namespace dcmt::recorder
