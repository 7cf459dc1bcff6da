#include "trace/sql/trace_file.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "trace/sql/schema.h"

namespace dcmt {
namespace {

class TraceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "dcmt_trace_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name = "t.dcmt") const { return (folder_ / name).string(); }

  /// The one-line error for a trace that cannot be opened.
  static std::string refusal(const std::string& path) {
    Expected<Database> database = open_trace(path);
    EXPECT_FALSE(database.ok());
    if (database.ok()) return {};
    EXPECT_EQ(database.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(database.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(database.error().message.rfind(path + ":", 0), 0u) << database.error().message;
    return database.error().message;
  }

  std::filesystem::path folder_;
};

std::int64_t integer_of(Database& database, const char* sql) {
  Expected<Statement> statement = database.prepare(sql);
  EXPECT_TRUE(statement.ok());
  EXPECT_TRUE(*statement->step());
  return statement->integer(0);
}

TEST_F(TraceFile, WhatAKilledWriterLeftHalfDoneIsUndone) {
  {
    Expected<Database> writer = create_trace(path());
    ASSERT_TRUE(writer.ok()) << writer.error().message;
    ASSERT_TRUE(writer->execute("INSERT INTO meta VALUES('x', 'whole')").ok());
    ASSERT_TRUE(finish_trace(*writer).ok());
  }
  const pid_t child = fork();
  if (child == 0) {
    Expected<Database> writer = Database::open(path(), OpenMode::kReadWrite);
    // More data than the cache holds, so that pages of the file are overwritten before the end.
    const bool written =
        writer.ok() && writer
                           ->execute(
                               "PRAGMA cache_size=1; BEGIN; UPDATE meta SET value = 'half';"
                               "INSERT INTO string SELECT value, hex(zeroblob(2000))"
                               " FROM (WITH RECURSIVE n(value) AS (SELECT 1000 UNION ALL SELECT value + 1 FROM n"
                               " LIMIT 1000) SELECT value FROM n)")
                           .ok();
    _exit(written ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(std::filesystem::exists(path() + "-journal"));
  Expected<Database> reader = open_trace(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(integer_of(*reader, "SELECT count(*) FROM meta WHERE value = 'whole'"), 1);
}

TEST_F(TraceFile, CreatedTraceOpensWhileItGrowsAndAfterwards) {
  Expected<Database> writer = create_trace(path());
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  ASSERT_TRUE(writer
                  ->execute("BEGIN; INSERT INTO meta VALUES('state','recording'); COMMIT; BEGIN;"
                            "INSERT INTO meta VALUES('x', 1)")
                  .ok());
  Expected<Database> reader = open_trace(path());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(integer_of(*reader, "SELECT count(*) FROM meta"), 1) << "a reader sees whole commits only";
  ASSERT_TRUE(writer->execute("COMMIT").ok());
  EXPECT_EQ(integer_of(*reader, "SELECT count(*) FROM meta"), 2);
  *reader = std::move(*Database::open(":memory:", OpenMode::kCreate));
  ASSERT_TRUE(finish_trace(*writer).ok());
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
  EXPECT_TRUE(open_trace(path()).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(TraceFile, FinishWithAReaderPresentKeepsTheContent) {
  Expected<Database> writer = create_trace(path());
  ASSERT_TRUE(writer.ok());
  Expected<Database> reader = open_trace(path());
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(finish_trace(*writer).ok());
  EXPECT_GT(integer_of(*reader, "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'edge_census'"), 0);
}

TEST_F(TraceFile, ExistingFileIsRefused) {
  ASSERT_TRUE(create_trace(path()).ok());
  Expected<Database> again = create_trace(path());
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("exists already"), std::string::npos);
}

TEST_F(TraceFile, UnwritableFolderIsIo) {
  Expected<Database> database = create_trace((folder_ / "no" / "t.dcmt").string());
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, ErrorCode::kIo);
}

TEST_F(TraceFile, MissingFolderAndForeignFiles) {
  EXPECT_NE(refusal(path("missing")).find("No such file"), std::string::npos);
  EXPECT_NE(refusal(folder_.string()).find("is a folder"), std::string::npos);
  std::ofstream(path("empty")).flush();
  EXPECT_NE(refusal(path("empty")).find("not a dc-memtrace trace"), std::string::npos);
  std::ofstream(path("text")) << std::string(5000, 'x');
  EXPECT_NE(refusal(path("text")).find("not a dc-memtrace trace"), std::string::npos);
  {
    Expected<Database> other = Database::open(path("other"), OpenMode::kCreate);
    ASSERT_TRUE(other.ok() && other->execute("CREATE TABLE t(a)").ok());
  }
  EXPECT_NE(refusal(path("other")).find("not a dc-memtrace trace"), std::string::npos);
}

TEST_F(TraceFile, NewerSchemaIsRefusedInOneLine) {
  {
    Expected<Database> database = create_trace(path());
    ASSERT_TRUE(database.ok() && database->execute("PRAGMA user_version = 99").ok());
  }
  EXPECT_EQ(refusal(path()), path() + ": schema 99, this build reads 1 to " + std::to_string(kSchemaVersion) +
                                 ". Install a newer dc-memtrace.");
  EXPECT_FALSE(reopen_trace(path()).ok());
}

TEST_F(TraceFile, VersionZeroIsDamaged) {
  {
    Expected<Database> database = create_trace(path());
    ASSERT_TRUE(database.ok() && database->execute("PRAGMA user_version = 0").ok());
  }
  EXPECT_NE(refusal(path()).find("no schema version"), std::string::npos);
}

TEST_F(TraceFile, CutFileIsRefusedAtEveryPage) {
  {
    Expected<Database> database = create_trace(path());
    ASSERT_TRUE(database.ok() && finish_trace(*database).ok());
  }
  const auto size = std::filesystem::file_size(path());
  for (std::uintmax_t keep = 0; keep < size; keep += 1000) {
    std::filesystem::copy_file(path(), path("cut"), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path("cut"), keep);
    refusal(path("cut"));
  }
}

TEST_F(TraceFile, WhatMustBeATableIsOne) {
  const std::string_view plants[] = {
      "ALTER TABLE meta RENAME TO m2; CREATE VIEW meta AS WITH RECURSIVE r(key, value) AS"
      " (SELECT 'a', 1 UNION ALL SELECT key, value + 1 FROM r) SELECT * FROM r",
      "CREATE VIEW extra AS SELECT 1",
      "DROP VIEW release; CREATE VIEW Release AS SELECT 1",
      "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM block; END",
      "DROP TABLE loss; CREATE VIRTUAL TABLE loss USING fts5(id, reason, count)",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE VIEW meta AS SELECT 1' WHERE name = 'meta'",
  };
  for (const std::string_view plant : plants) {
    {
      ASSERT_TRUE(create_trace(path()).ok());
      sqlite3* foreign = nullptr;
      ASSERT_EQ(sqlite3_open(path().c_str(), &foreign), SQLITE_OK);
      EXPECT_EQ(sqlite3_exec(foreign, std::string(plant).c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
          << plant << ": " << sqlite3_errmsg(foreign);
      sqlite3_close(foreign);
    }
    refusal(path());
    EXPECT_FALSE(reopen_trace(path()).ok());
    std::filesystem::remove(path());
  }
}

TEST_F(TraceFile, AQueryEndsWhateverTheFileHas) {
  {
    Expected<Database> writer = create_trace(path());
    ASSERT_TRUE(writer.ok());
  }
  Expected<Database> reader = open_trace(path());
  ASSERT_TRUE(reader.ok());
  const Status endless =
      each_row(*reader, "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
               [](const Statement&) {});
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, ErrorCode::kBadInput);
  EXPECT_NE(endless.error().message.find("more work than its size explains"), std::string::npos);
}

}  // namespace
}  // namespace dcmt
