#include "trace/sql/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "trace/sql/migrations.h"
#include "trace/sql/pyramid.h"

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

/// The single integer that a pragma or a query yields.
Expected<std::int64_t> integer_of(Database& database, const char* sql) {
  Expected<Statement> statement = database.prepare(sql);
  if (!statement.ok()) return statement.error();
  Expected<bool> row = statement->step();
  if (!row.ok()) return row.error();
  return *row ? statement->integer(0) : 0;
}

/// Damage of any kind, named as what it means for the person who has the file.
Error unreadable(const std::string& path, const Error& cause) {
  return bad_input(path, "not a dc-memtrace trace, or a damaged one (" + cause.message + ")");
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
  // SQLite notices a file that lacks whole pages, but rounds the last one up.
  Expected<std::int64_t> page = integer_of(database, "PRAGMA page_size");
  if (!page.ok()) return unreadable(path, page.error());
  struct stat info {};
  if (::access((path + "-wal").c_str(), F_OK) != 0 && ::stat(path.c_str(), &info) == 0 && *page > 0 &&
      info.st_size % *page != 0) {
    return bad_input(path, "damaged: it was cut short.");
  }
  // A first real query: the header alone says nothing about the tables behind it.
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
  return apply_migrations(database, embedded_migrations());
}

}  // namespace

Expected<Database> open_trace(const std::string& path) { return open_checked(path, OpenMode::kRead); }

Expected<Database> create_trace(const std::string& path) {
  // SQLite would open whatever is there; only the kernel can promise that the file is new.
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    const int error = errno;
    if (error == EEXIST) return bad_input(path, "exists already. Choose another output folder or remove it.");
    return Error{ErrorCode::kIo, path + ": cannot create: " + std::strerror(error) + "."};
  }
  ::close(fd);
  Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
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
  // Rows of a garbled job may make no sense. Whoever reads them says so; they are not lost for lack of a pyramid.
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
  // A reader that has the file open keeps it in WAL mode; its content is complete all the same.
  static_cast<void>(database.execute("PRAGMA journal_mode=DELETE"));
  return {};
}

}  // namespace dcmt
