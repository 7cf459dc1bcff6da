#include "tests/fuzz/trace_mutations.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "trace/sql/database.h"

namespace dcmt::fuzz {
namespace {

const std::vector<std::string> kTables = {
    "meta",    "string",   "frame",          "stack", "thread",   "operator",    "block",      "storage",
    "tensor",  "mark",     "sample",         "edge",  "source",   "source_line", "diagnostic", "loss",
    "pyramid", "interval", "interval_curve", "oom",   "launches", "key_sum",     "parameter",  "operator_alias"};

std::vector<std::string> columns_of(Database& database, const std::string& table) {
  std::vector<std::string> columns;
  Expected<Statement> query = database.prepare("SELECT name FROM pragma_table_xinfo('" + table + "')");
  if (!query.ok()) return columns;
  for (Expected<bool> row = query->step(); row.ok() && *row; row = query->step()) columns.emplace_back(query->text(0));
  return columns;
}

std::string number(std::uint64_t value) { return std::to_string(static_cast<std::int64_t>(value)); }

/// A value as SQL: of any type, or a number that may be an id.
std::string value(Random& random) {
  switch (random.below(10)) {
    case 0:
      return "NULL";
    case 1:
      return "'text'";
    case 2:
      return "x'FF00C0AF80'";
    case 3:
      return "CAST(x'C3285C0AE28028' AS TEXT)";  // no UTF-8
    case 4:
      return random.chance(50) ? "1e300" : "-0.5";
    case 5:
      return "CAST(zeroblob(" + std::to_string(random.below(100'000)) + ") AS TEXT)";
    case 6:
    case 7:
      return number(random.interesting());
    default:
      return number(random.below(40));
  }
}

/// What no recorder makes, beside the tables or in place of one; and rows that add up to more than a number holds.
void plant(Database& database, Random& random) {
  const std::string& table = random.pick(kTables);
  const std::string endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT ";
  std::string sql;
  switch (random.below(5)) {
    case 0: {
      std::string columns;
      for (const std::string& column : columns_of(database, table))
        columns += (columns.empty() ? "" : ", ") + ("n AS " + column);
      sql = "DROP TABLE " + table + "; CREATE VIEW " + table + " AS " + endless + columns + " FROM r";
      break;
    }
    case 1:
      sql = "CREATE TRIGGER planted AFTER INSERT ON " + table + " BEGIN DELETE FROM block; END";
      break;
    case 2:
      sql = "CREATE VIEW pragma_table_info AS " + endless + "'id' AS name FROM r";
      break;
    case 3:
      sql = "DROP TABLE " + table + "; CREATE VIRTUAL TABLE " + table + " USING fts5(id, text)";
      break;
    default:
      sql =
          "WITH RECURSIVE r(n) AS (SELECT 1000000 UNION ALL SELECT n + 1 FROM r LIMIT 9000) INSERT INTO block(id,"
          " address, bytes, thread, late, from_ns) SELECT n, n, 1 << " +
          std::to_string(44 + random.below(5)) + ", 0, 0, n FROM r";
      break;
  }
  static_cast<void>(database.execute(sql));
}

/// A condition that some rows meet.
std::string some_rows(Random& random) {
  if (random.chance(20)) return "1";
  const std::uint64_t every = 1 + random.below(9);
  return "rowid % " + std::to_string(every) + " = " + std::to_string(random.below(every));
}

/// The table without its constraints and types, if `damaged` some columns left out or called otherwise.
void loosen(Database& database, const std::string& table, bool damaged, Random& random) {
  std::string list;
  for (const std::string& column : columns_of(database, table)) {
    if (damaged && random.chance(5)) continue;
    list += (list.empty() ? "" : ", ") + column + (damaged && random.chance(5) ? " AS other" : " AS " + column);
  }
  static_cast<void>(database.execute("CREATE TABLE loose AS SELECT " + list + " FROM " + table + "; DROP TABLE " +
                                     table + "; ALTER TABLE loose RENAME TO " + table));
}

void change_rows(Database& database, Random& random) {
  const std::string& table = random.pick(kTables);
  const std::vector<std::string> columns = columns_of(database, table);
  if (columns.empty()) return;
  const std::string& column = random.pick(columns);
  static const std::vector<std::string> kReferences = {"parent", "storage", "tensor", "stack",  "operator",
                                                       "frame",  "census",  "thread", "object", "id"};
  std::string sql;
  switch (random.below(8)) {
    case 0:
      sql = "DELETE FROM " + table + " WHERE " + some_rows(random);
      break;
    case 1:
      if (random.chance(5)) sql = "DROP TABLE " + table;
      break;
    case 2: {  // to itself, its neighbour, a far one: circles
      const std::string& reference = random.pick(kReferences);
      const std::string shift = random.chance(30) ? number(random.interesting()) : number(random.below(4));
      sql = "UPDATE " + table + " SET " + reference + " = (rowid + " + shift + ") % 30 WHERE " + some_rows(random);
      break;
    }
    case 3:
      sql = "UPDATE " + table + " SET from_seq = to_seq, to_seq = from_seq, from_ns = to_ns, to_ns = from_ns WHERE " +
            some_rows(random);
      break;
    case 4:
      sql = "UPDATE meta SET value = " + value(random) + " WHERE " + some_rows(random);
      break;
    default:
      sql = "UPDATE " + table + " SET " + column + " = " + value(random) + " WHERE " + some_rows(random);
      break;
  }
  static_cast<void>(database.execute(sql));
}

void mutate_rows(const std::string& path, Random& random) {
  Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
  if (!database.ok()) return;
  static_cast<void>(database->execute("PRAGMA synchronous = OFF; PRAGMA legacy_alter_table = ON"));
  const bool damaged = random.chance(5);
  for (const std::string& table : kTables) {
    if (random.chance(60)) loosen(*database, table, damaged, random);
  }
  for (std::uint64_t i = 0, changes = 1 + random.below(12); i < changes; ++i) change_rows(*database, random);
  if (random.chance(10)) plant(*database, random);
  if (random.chance(3))
    static_cast<void>(database->execute("PRAGMA user_version = " + std::to_string(random.below(4))));
  if (random.chance(1)) static_cast<void>(database->execute("PRAGMA application_id = 7"));
}

void mutate_bytes(const std::string& path, Random& random) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  in.close();
  for (std::uint64_t i = 0, changes = 1 + random.below(20); i < changes && bytes.size() > 8; ++i) {
    const std::uint64_t value = random.chance(50) ? random.interesting() : random.bits();
    const std::size_t width = 1 + random.below(8);
    // The first page holds the schema: most changes there are refused and teach nothing.
    const std::size_t from = random.chance(90) && bytes.size() > 8192 ? 4096 : 0;
    std::memcpy(&bytes[from + random.below(bytes.size() - from - width)], &value, width);
  }
  if (random.chance(5)) bytes.resize(random.below(bytes.size()));
  if (random.chance(5) && bytes.size() >= 4096) {
    // A page in place of another.
    const std::size_t pages = bytes.size() / 4096;
    std::memmove(&bytes[random.below(pages) * 4096], &bytes[random.below(pages) * 4096], 4096);
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

void mutate_trace(const std::string& path, Random& random) {
  const bool rows = random.chance(75);
  if (rows) mutate_rows(path, random);
  if (!rows || random.chance(10)) mutate_bytes(path, random);
}

}  // namespace dcmt::fuzz
