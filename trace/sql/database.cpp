#include "trace/sql/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <utility>

namespace dcmt {
namespace {

// A writer's commit locks out a reader only briefly (WAL), but a checkpoint can lock the file for longer.
constexpr int kBusyTimeoutMs = 5000;

/// Steps of SQLite's virtual machine between two calls of the handler that counts them.
constexpr int kStepsAtOnce = 100'000;
/// A limit of work for a file of any size, and an amount per byte of the file. The amount is many times what several
/// reads of every row cost. Writing to a file is allowed more, because the file grows.
constexpr std::uint64_t kFewestSteps = 20'000'000;
constexpr std::uint64_t kFewestStepsToWrite = 20'000'000'000;
constexpr std::uint64_t kStepsPerByte = 32;

/// Limits of a text or a blob, of a row, and of an expression. No trace comes near them.
constexpr std::array kLimits = {
    std::pair{SQLITE_LIMIT_LENGTH, 64 << 20},  std::pair{SQLITE_LIMIT_COLUMN, 100},
    std::pair{SQLITE_LIMIT_EXPR_DEPTH, 100},   std::pair{SQLITE_LIMIT_COMPOUND_SELECT, 10},
    std::pair{SQLITE_LIMIT_ATTACHED, 0},       std::pair{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100},
    std::pair{SQLITE_LIMIT_FUNCTION_ARG, 16},  std::pair{SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    std::pair{SQLITE_LIMIT_WORKER_THREADS, 0},
};

Error failure(sqlite3* connection, int code, const std::string& path) {
  const int primary = code & 0xff;
  const bool bad_file = primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT || primary == SQLITE_CANTOPEN;
  // Use one line: for a damaged schema, SQLite appends the rest of the definition.
  std::string why = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  why.resize(std::min(why.size(), why.find('\n')));
  if (primary == SQLITE_INTERRUPT) {
    return {ErrorCode::kBadInput, path + ": damaged: reading it takes more work than its size explains."};
  }
  return Error{bad_file ? ErrorCode::kBadInput : ErrorCode::kIo, path + ": " + why + "."};
}

/// Sets options for all connections of the process. A connection belongs to one thread, so SQLite needs no locks. Its
/// memory statistics lock a mutex that all threads share, at each allocation, and nothing reads them. If another part
/// of the process has started SQLite before, its options stay; then the code works, but slower.
void configure() {
  static std::once_flag once;
  std::call_once(once, [] {
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  });
}

std::string path_of(sqlite3_stmt* statement) {
  const char* const file = sqlite3_db_filename(sqlite3_db_handle(statement), "main");
  return file != nullptr ? file : "";
}

}  // namespace

/// Counts the work that the connection has done.
struct Database::Work {
  std::string path;
  std::uint64_t fewest, steps = 0, most = fewest;

  /// SQLite calls it after each kStepsAtOnce steps; true ends the statement.
  bool is_too_much() {
    steps += kStepsAtOnce;
    if (steps <= most) return false;
    // A trace can grow while it is read.
    std::uint64_t bytes = 0;
    for (const char* suffix : {"", "-wal"}) {
      struct stat status {};
      if (::stat((path + suffix).c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
    }
    most = std::max(most, fewest + bytes * kStepsPerByte);
    return steps > most;
  }
};

void Database::EndWork::operator()(Work* work) const noexcept { delete work; }

Database::Database(sqlite3* connection, std::string path) : connection_(connection), path_(std::move(path)) {}

void Database::distrust() {
  sqlite3* connection = connection_.get();
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  for (const auto& [limit, most] : kLimits) sqlite3_limit(connection, limit, most);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

void Statement::note(int code) {
  if (code != SQLITE_OK && bind_failure_ == SQLITE_OK) bind_failure_ = code;
}

void Statement::bind(int index, std::int64_t value) { note(sqlite3_bind_int64(statement_.get(), index, value)); }

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, but an empty text is not NULL.
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
  // Reads the value once and uses it twice. A connection without a lock may use such a value in this way
  // (sqlite.org/c3ref/value.html).
  sqlite3_value* const value = sqlite3_column_value(statement_.get(), column);
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return sqlite3_value_int64(value);
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }

std::string_view Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name != nullptr ? name : "";
}

void Database::Close::operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }

Expected<Database> Database::open(const std::string& path, OpenMode mode) {
  configure();
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
  Database database(connection, path);  // SQLite returns a handle even if opening fails; the handle must be closed
  if (code != SQLITE_OK) {
    Error error = failure(connection, code, path);
    error.code = ErrorCode::kBadInput;
    return error;
  }
  sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  database.distrust();
  if (mode == OpenMode::kCreate) return database;
  database.work_.reset(new Work{path, mode == OpenMode::kRead ? kFewestSteps : kFewestStepsToWrite});
  sqlite3_progress_handler(
      connection, kStepsAtOnce, [](void* work) { return static_cast<Work*>(work)->is_too_much() ? 1 : 0; },
      database.work_.get());
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
  DCMT_ASSIGN_OR_RETURN(Statement query, database.prepare(sql));
  while (true) {
    DCMT_ASSIGN_OR_RETURN(bool row, query.step());
    if (!row) return {};
    visit(query);
  }
}

}  // namespace dcmt
