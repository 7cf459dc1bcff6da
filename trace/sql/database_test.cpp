#include "trace/sql/database.h"

#include <gtest/gtest.h>

#include <vector>

namespace dcmt {
namespace {

Database memory() {
  Expected<Database> database = Database::open(":memory:", OpenMode::kCreate);
  EXPECT_TRUE(database.ok());
  return std::move(*database);
}

TEST(Database, BindsAndReadsEveryKind) {
  Database database = memory();
  ASSERT_TRUE(database.execute("CREATE TABLE t(a, b, c, d, e)").ok());
  Expected<Statement> insert = database.prepare("INSERT INTO t VALUES(?,?,?,?,?)");
  ASSERT_TRUE(insert.ok());
  insert->bind(1, std::int64_t{-7});
  insert->bind(2, std::string_view("text"));
  insert->bind_null(3);
  insert->bind(4, std::optional<std::int64_t>(9));
  insert->bind_blob(5, std::string_view("\0x", 2));
  ASSERT_TRUE(insert->run().ok());

  Expected<Statement> select = database.prepare("SELECT a, b, c, d, e, 1.5 FROM t");
  ASSERT_TRUE(select.ok());
  ASSERT_TRUE(*select->step());
  EXPECT_EQ(select->integer(0), -7);
  EXPECT_EQ(select->text(1), "text");
  EXPECT_TRUE(select->is_null(2));
  EXPECT_EQ(select->optional_integer(2), std::nullopt);
  EXPECT_EQ(select->optional_integer(3), 9);
  EXPECT_EQ(select->blob(4), std::string_view("\0x", 2));
  EXPECT_EQ(select->real(5), 1.5);
  EXPECT_EQ(select->column_count(), 6);
  EXPECT_EQ(select->column_name(0), "a");
  EXPECT_FALSE(*select->step());
  EXPECT_TRUE(*select->step()) << "a finished statement starts anew";
}

TEST(Database, EmptyTextIsNotNull) {
  Database database = memory();
  Expected<Statement> statement = database.prepare("SELECT ? IS NULL, ? IS NULL");
  ASSERT_TRUE(statement.ok());
  statement->bind(1, std::string_view());
  statement->bind_static(2, std::string_view());
  ASSERT_TRUE(*statement->step());
  EXPECT_EQ(statement->integer(0), 0);
  EXPECT_EQ(statement->integer(1), 0);
}

TEST(Database, BadParameterIndexShowsInStep) {
  Database database = memory();
  Expected<Statement> statement = database.prepare("SELECT ?");
  ASSERT_TRUE(statement.ok());
  statement->bind(2, std::int64_t{1});
  EXPECT_FALSE(statement->step().ok());
  EXPECT_TRUE(statement->step().ok()) << "the failure is reported once";
}

TEST(Database, BadSqlIsAnError) {
  Database database = memory();
  EXPECT_FALSE(database.prepare("SELEC 1").ok());
  EXPECT_FALSE(database.execute("SELECT * FROM nothing").ok());
}

TEST(Database, MissingFileIsBadInput) {
  Expected<Database> database = Database::open("/nonexistent/x.dcmt", OpenMode::kRead);
  ASSERT_FALSE(database.ok());
  EXPECT_EQ(database.error().code, ErrorCode::kBadInput);
}

TEST(Database, HandsOverEveryRow) {
  Database database = memory();
  std::vector<std::int64_t> seen;
  const auto see = [&](const Statement& row) { seen.push_back(row.integer(0)); };
  ASSERT_TRUE(each_row(database, "VALUES(3), (1), (2)", see).ok());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_FALSE(each_row(database, "SELECT x FROM nowhere", see).ok());
  EXPECT_FALSE(each_row(database, "SELECT abs(-9223372036854775807 - 1)", see).ok()) << "it fails at the row";
  EXPECT_EQ(seen.size(), 3u);
}

}  // namespace
}  // namespace dcmt
