#include "trace/sql/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace dcmt {
namespace {

// A reader meets a writer's commit only for a moment (WAL), but a checkpoint can hold the file a little longer.
constexpr int kBusyTimeoutMs = 5000;

Error failure(sqlite3* connection, int code, const std::string& path) {
  const int primary = code & 0xff;
  const bool bad_file = primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT || primary == SQLITE_CANTOPEN;
  // One line: of a damaged schema SQLite quotes the rest of the definition.
  std::string why = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  why.resize(std::min(why.size(), why.find('\n')));
  return Error{bad_file ? ErrorCode::kBadInput : ErrorCode::kIo, path + ": " + why + "."};
}

std::string path_of(sqlite3_stmt* statement) {
  const char* const file = sqlite3_db_filename(sqlite3_db_handle(statement), "main");
  return file != nullptr ? file : "";
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

void Statement::note(int code) {
  if (code != SQLITE_OK && bind_failure_ == SQLITE_OK) bind_failure_ = code;
}

void Statement::bind(int index, std::int64_t value) { note(sqlite3_bind_int64(statement_.get(), index, value)); }

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL; empty text is not nothing.
  note(sqlite3_bind_text64(statement_.get(), index, text.data() != nullptr ? text.data() : "", text.size(),
                           SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_static(int index, std::string_view text) {
  note(sqlite3_bind_text64(statement_.get(), index, text.data() != nullptr ? text.data() : "", text.size(),
                           SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bind(int index, std::optional<std::int64_t> value) {
  if (value) {
    bind(index, *value);
  } else {
    bind_null(index);
  }
}

void Statement::bind_null(int index) { note(sqlite3_bind_null(statement_.get(), index)); }

void Statement::bind_blob(int index, std::string_view bytes) {
  note(sqlite3_bind_blob64(statement_.get(), index, bytes.data() != nullptr ? bytes.data() : "", bytes.size(),
                           SQLITE_TRANSIENT));
}

Expected<bool> Statement::step() {
  if (const int code = std::exchange(bind_failure_, SQLITE_OK); code != SQLITE_OK) {
    return failure(nullptr, code, path_of(statement_.get()));
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  Error error = failure(sqlite3_db_handle(statement_.get()), code, path_of(statement_.get()));
  sqlite3_reset(statement_.get());
  return error;
}

Status Statement::run() {
  Expected<bool> row = step();
  if (row.ok() && *row) reset();
  return row.status();
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

std::optional<std::int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }

std::string_view Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name != nullptr ? name : "";
}

void Database::Close::operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }

Expected<Database> Database::open(const std::string& path, OpenMode mode) {
  int flags = SQLITE_OPEN_NOMUTEX;
  switch (mode) {
    case OpenMode::kRead:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case OpenMode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case OpenMode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(connection, path);  // SQLite gives a handle even where it fails; it must be closed
  if (code != SQLITE_OK) {
    Error error = failure(connection, code, path);
    error.code = ErrorCode::kBadInput;
    return error;
  }
  sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  return database;
}

Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(connection_.get(), code, path_);
  return {};
}

Expected<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return failure(connection_.get(), code, path_);
  return Statement(statement);
}

Status each_row(Database& database, std::string_view sql, const std::function<void(const Statement&)>& visit) {
  Expected<Statement> query = database.prepare(sql);
  if (!query.ok()) return query.error();
  while (true) {
    Expected<bool> row = query->step();
    if (!row.ok()) return row.error();
    if (!*row) return {};
    visit(*query);
  }
}

}  // namespace dcmt
