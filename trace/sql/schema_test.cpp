#include "trace/sql/schema.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "trace/testing/schema_page.h"

namespace dcmt {
namespace {

using Shape = std::map<std::string, std::vector<std::string>>;

void check(const Status& status) { ASSERT_TRUE(status.ok()) << status.error().message; }

Database empty() {
  Expected<Database> database = Database::open(":memory:", OpenMode::kCreate);
  EXPECT_TRUE(database.ok());
  return std::move(*database);
}

std::int64_t integer_of(Database& database, const std::string& sql) {
  std::int64_t value = -1;
  check(each_row(database, sql, [&](const Statement& row) { value = row.integer(0); }));
  return value;
}

/// Each table with its columns in the order of the file, with their types and whether they are generated.
Shape shape_of(Database& database) {
  std::vector<std::string> tables;
  check(each_row(database, "SELECT name FROM sqlite_schema WHERE type = 'table'",
                 [&](const Statement& row) { tables.emplace_back(row.text(0)); }));
  Shape shape;
  for (const std::string& table : tables) {
    check(each_row(database,
                   "SELECT name || ' ' || type || iif(\"notnull\", ' NOT NULL', '') || iif(pk, ' KEY', '') ||"
                   " iif(hidden, ' GENERATED', '') FROM pragma_table_xinfo('" +
                       table + "')",
                   [&](const Statement& row) { shape[table].emplace_back(row.text(0)); }));
  }
  return shape;
}

TEST(Schema, ANewFileHasAllTables) {
  Database database = empty();
  check(bring_up_to_date(database));
  EXPECT_EQ(integer_of(database, "PRAGMA user_version"), kSchemaVersion);
  EXPECT_EQ(integer_of(database, "PRAGMA application_id"), 0x44434D54);
  const Shape shape = shape_of(database);
  for (const DeclaredTable& table : declared_tables()) {
    const std::string name(table.table.name);
    EXPECT_EQ(shape.contains(name), !table.table.at_finish) << name;
    if (shape.contains(name)) {
      EXPECT_EQ(shape.at(name).size(), table.columns.size()) << name;
    }
  }
  EXPECT_EQ(shape.at("parameter"), (std::vector<std::string>{"graph INTEGER NOT NULL KEY", "key INTEGER NOT NULL KEY",
                                                             "name INTEGER", "mechanism INTEGER NOT NULL"}));
}

TEST(Schema, EachVersionUpgradesToTheSameTables) {
  Database now = empty();
  check(bring_up_to_date(now));
  for (int version = 1; version <= kSchemaVersion; ++version) {
    Database old = empty();
    check(old.execute(create_sql(version)));
    EXPECT_EQ(integer_of(old, "PRAGMA user_version"), version);
    check(old.execute("INSERT INTO storage(id, address, bytes, first_seen, late, from_ns) VALUES(7, 1, 2, 0, 0, 3)"));
    check(bring_up_to_date(old));
    check(bring_up_to_date(old));
    EXPECT_EQ(integer_of(old, "PRAGMA user_version"), kSchemaVersion);
    EXPECT_EQ(shape_of(old), shape_of(now)) << "from schema " << version;
    EXPECT_EQ(integer_of(old, "SELECT from_seq FROM storage"), 7);
  }
}

TEST(Schema, AFailedUpgradeLeavesTheVersionBefore) {
  Database database = empty();
  check(database.execute(create_sql(1)));
  check(database.execute("DROP TABLE mark; CREATE VIEW mark AS SELECT 1 AS id"));
  EXPECT_FALSE(bring_up_to_date(database).ok());
  EXPECT_EQ(integer_of(database, "PRAGMA user_version"), 1);
  EXPECT_EQ(integer_of(database, "SELECT count(*) FROM sqlite_schema WHERE name = 'gpu_memory'"), 0);
}

TEST(Schema, ThePageHasTheTablesAsDeclared) {
  std::stringstream page;
  page << std::ifstream(std::string(DCMT_SOURCE_DIR) + "/docs/schema.md").rdbuf();
  EXPECT_TRUE(page.str() == dcmt::testing::with_declared_tables(page.str()))
      << "write it anew: dcmt_schema page docs/schema.md";
}

TEST(Schema, TheNewestColumnIsOfThisVersion) {
  int newest = 0;
  std::set<int> versions;
  for (const DeclaredTable& table : declared_tables()) {
    for (const Column& column : table.columns) versions.insert(column.since);
  }
  for (const int version : versions) EXPECT_EQ(version, ++newest) << "each schema adds something";
  EXPECT_EQ(newest, kSchemaVersion);
}

}  // namespace
}  // namespace dcmt
