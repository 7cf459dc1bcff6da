// A thin, movable front end of SQLite: one connection and its prepared statements. Failures are returned as Status.
//
// Thread-safety: none. A Database and all of its Statements belong to one thread at a time. A Statement must be
// destroyed before its Database is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "trace/base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dcmt {

/// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() = default;

  /// Binds a value to a parameter; the value stays until the parameter is bound again. The next step() returns an error
  /// of bind(): no such parameter, or no memory.
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text);  ///< the text is copied
  void bind(int index, std::optional<std::int64_t> value);
  void bind_null(int index);
  /// As bind(), without a copy: `text` must live until the parameter is bound again.
  void bind_static(int index, std::string_view text);

  void bind_blob(int index, std::string_view bytes);  ///< copied

  /// True: the statement has a row. False: the statement is done and can run again.
  Expected<bool> step();
  /// Steps a statement that yields no rows.
  Status run();
  /// Prepares the statement to run again; bound values stay.
  void reset();

  /// The current row's columns. A NULL reads as 0 or as empty text; text is valid until the next step() or reset().
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string_view blob(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int column) const;
  [[nodiscard]] int column_count() const;
  [[nodiscard]] std::string_view column_name(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };

  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  void note(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_failure_ = 0;
};

enum class OpenMode {
  kRead,       ///< an existing file, never written to
  kReadWrite,  ///< an existing file
  kCreate,     ///< a new or an existing file
};

/// A connection to one SQLite file. Content of the file cannot run code, read another file, or run without end: the
/// schema may use only harmless functions, and statements on an existing file have a limit of work that follows from
/// the file's size.
class Database {
 public:
  /// Opens `path`. SQLite reads the file only at the first statement. Fails with kBadInput.
  static Expected<Database> open(const std::string& path, OpenMode mode);

  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() = default;

  /// Runs one or more statements and drops their rows. Fails with kBadInput if the file is damaged or foreign, else
  /// with kIo. The message contains the path.
  Status execute(const std::string& sql);
  /// Compiles one statement.
  Expected<Statement> prepare(std::string_view sql);

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept;
  };
  struct Work;
  struct EndWork {
    void operator()(Work* work) const noexcept;
  };

  Database(sqlite3* connection, std::string path);
  void distrust();

  std::unique_ptr<Work, EndWork>
      work_;  ///< work done so far; absent for a file that this process makes. Outlives the connection
  std::unique_ptr<sqlite3, Close> connection_;
  std::string path_;
};

/// Runs a query and calls `visit` for every row.
Status each_row(Database& database, std::string_view sql, const std::function<void(const Statement&)>& visit);

}  // namespace dcmt
