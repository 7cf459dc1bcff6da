#include "trace/sql/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "trace/base/printable.h"
#include "trace/base/rename_new.h"
#include "trace/sql/pyramid.h"
#include "trace/sql/schema.h"

namespace dcmt {
namespace {

Error bad_input(const std::string& path, const std::string& what) {
  return Error{ErrorCode::kBadInput, path + ": " + what};
}

Status check_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return bad_input(path, std::string(std::strerror(errno)) + ".");
  if (S_ISDIR(info.st_mode)) return bad_input(path, "is a folder, not a trace. Name a .dcmt file in it.");
  if (!S_ISREG(info.st_mode)) return bad_input(path, "is not a regular file.");
  if (::access(path.c_str(), R_OK) != 0) return bad_input(path, std::string(std::strerror(errno)) + ".");
  return {};
}

/// The single integer that a pragma or a query returns.
Expected<std::int64_t> integer_of(Database& database, const char* sql) {
  DCMT_ASSIGN_OR_RETURN(Statement statement, database.prepare(sql));
  DCMT_ASSIGN_OR_RETURN(bool row, statement.step());
  return row ? statement.integer(0) : 0;
}

/// Reports any kind of damage as what it means for the user of the file.
Error unreadable(const std::string& path, const Error& cause) {
  return bad_input(path, "not a dc-memtrace trace, or a damaged one (" + cause.message + ")");
}

/// Checks that the schema has only tables, indexes and the views of a recorder, so that reading or writing the
/// file runs nothing else. No reader here uses the views.
Status check_schema(Database& database) {
  // SQLite interprets only the text of a definition, so each text must match the type in its row.
  Expected<Statement> foreign = database.prepare(
      "SELECT type, name FROM main.sqlite_schema WHERE NOT ifnull(CASE type"
      " WHEN 'table' THEN sql LIKE 'CREATE TABLE%'"
      " WHEN 'index' THEN sql IS NULL OR sql LIKE 'CREATE INDEX%'"
      " WHEN 'view' THEN name IN ('release', 'allocated', 'holder', 'reference_change')"
      " AND sql LIKE 'CREATE VIEW ' || name || ' AS%'"
      " END, 0) LIMIT 1");
  if (!foreign.ok()) return unreadable(database.path(), foreign.error());
  const Expected<bool> found = foreign->step();
  if (!found.ok()) return unreadable(database.path(), found.error());
  if (!*found) return {};
  return bad_input(database.path(), "not a trace that dc-memtrace wrote: it has the " + std::string(foreign->text(0)) +
                                        " '" + printable(foreign->text(1)) + "'.");
}

Status check_identity(Database& database) {
  const std::string& path = database.path();
  Expected<std::int64_t> application = integer_of(database, "PRAGMA application_id");
  if (!application.ok()) return unreadable(path, application.error());
  if (*application != kApplicationId) return bad_input(path, "not a dc-memtrace trace.");
  Expected<std::int64_t> version = integer_of(database, "PRAGMA user_version");
  if (!version.ok()) return unreadable(path, version.error());
  if (*version > kSchemaVersion) {
    return bad_input(path, "schema " + std::to_string(*version) + ", this build reads 1 to " +
                               std::to_string(kSchemaVersion) + ". Install a newer dc-memtrace.");
  }
  if (*version < 1) return bad_input(path, "damaged: it has no schema version.");
  // SQLite detects whole missing pages, but rounds the size of the last page up.
  Expected<std::int64_t> page = integer_of(database, "PRAGMA page_size");
  if (!page.ok()) return unreadable(path, page.error());
  struct stat info {};
  if (::access((path + "-wal").c_str(), F_OK) != 0 && ::stat(path.c_str(), &info) == 0 && *page > 0 &&
      info.st_size % *page != 0) {
    return bad_input(path, "damaged: it was cut short.");
  }
  DCMT_RETURN_IF_ERROR(check_schema(database));
  // Run a first query on a table: opening checks only the header.
  Expected<std::int64_t> meta = integer_of(database, "SELECT count(*) FROM meta");
  if (!meta.ok()) return unreadable(path, meta.error());
  return {};
}

Expected<Database> open_checked(const std::string& path, OpenMode mode) {
  DCMT_RETURN_IF_ERROR(check_file(path));
  Expected<Database> database = Database::open(path, mode);
  if (!database.ok()) return database;
  DCMT_RETURN_IF_ERROR(check_identity(*database));
  return database;
}

Status prepare_for_writing(Database& database) {
  DCMT_RETURN_IF_ERROR(
      database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-32768;"
                       " PRAGMA temp_store=MEMORY;"));
  return bring_up_to_date(database);
}

/// Makes a new file with the tables of a trace. Replaces a file that an earlier process did not complete.
Status make_empty_trace(const std::string& path) {
  ::unlink(path.c_str());
  // SQLite would open any file with that name. Only the kernel can guarantee that the file is new.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return {ErrorCode::kIo, path + ": cannot create: " + std::strerror(errno) + "."};
  ::close(fd);
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kCreate));
  DCMT_RETURN_IF_ERROR(database.execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF"));
  DCMT_RETURN_IF_ERROR(bring_up_to_date(database));
  // The change of mode is a transaction with a journal, so it must be finished before the file gets its name.
  return database.execute("PRAGMA journal_mode=WAL");
}

/// A writer that was killed in a transaction has left a journal, which must be rolled back; that needs write access.
/// Without write access, SQLite reports the error to the next reader.
void roll_back_what_was_killed(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path + "-journal", error)) return;
  if (Expected<Database> database = Database::open(path, OpenMode::kReadWrite); database.ok()) {
    static_cast<void>(integer_of(*database, "PRAGMA user_version"));
  }
}

}  // namespace

Expected<Database> open_trace(const std::string& path) {
  roll_back_what_was_killed(path);
  return open_checked(path, OpenMode::kRead);
}

Expected<Database> create_trace(const std::string& path) {
  // The file has a name of this process until it is a complete trace: a killed process leaves no incomplete trace.
  const std::filesystem::path shown(path);
  const std::string name = "." + shown.filename().string() + "." + std::to_string(getpid()) + ".new";
  const std::string hidden = (shown.parent_path() / name).string();
  if (const Status made = make_empty_trace(hidden); !made.ok()) {
    ::unlink(hidden.c_str());
    return made.error();
  }
  if (const int error = rename_to_new(hidden, path); error != 0) {
    ::unlink(hidden.c_str());
    if (error == EEXIST) return bad_input(path, "exists already. Choose another output folder or remove it.");
    return Error{ErrorCode::kIo, path + ": cannot create: " + std::strerror(error) + "."};
  }
  Expected<Database> database = Database::open(path, OpenMode::kCreate);
  if (!database.ok()) return database;
  DCMT_RETURN_IF_ERROR(prepare_for_writing(*database));
  return database;
}

Expected<Database> reopen_trace(const std::string& path) {
  Expected<Database> database = open_checked(path, OpenMode::kReadWrite);
  if (!database.ok()) return database;
  DCMT_RETURN_IF_ERROR(prepare_for_writing(*database));
  return database;
}

Status finish_trace(Database& database) {
  // Rows of a damaged job may be contradictory, so there may be no pyramid. The reader reports that; the rows are kept.
  if (Status built = build_pyramid(database, "main"); !built.ok() && built.error().code != ErrorCode::kBadInput) {
    return built;
  }
  DCMT_RETURN_IF_ERROR(
      database.execute("CREATE INDEX IF NOT EXISTS edge_census ON edge(census);"
                       "CREATE INDEX IF NOT EXISTS edge_storage ON edge(storage);"
                       "CREATE INDEX IF NOT EXISTS mark_kind_key ON mark(kind, key);"
                       "CREATE INDEX IF NOT EXISTS sample_census ON sample(census);"
                       "ANALYZE;"));
  DCMT_RETURN_IF_ERROR(database.execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  // A reader that has the file open keeps it in WAL mode; its content is complete nevertheless.
  static_cast<void>(database.execute("PRAGMA journal_mode=DELETE"));
  return {};
}

bool is_single_file(const std::string& path) {
  constexpr std::streamoff kVersions = 18;  // of the format to write and to read: 1, or 2 with a write-ahead log
  std::ifstream file(path, std::ios::binary);
  char versions[2] = {};
  if (!file.seekg(kVersions).read(versions, sizeof versions)) return true;  // no trace at all
  return versions[0] != 2 && versions[1] != 2;
}

void remove_trace(const std::string& path) {
  for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
}

Status merge_log(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  DCMT_RETURN_IF_ERROR(database.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE"));
  if (is_single_file(path)) return {};
  return {ErrorCode::kIo, path + ": its log cannot be merged."};
}

}  // namespace dcmt
