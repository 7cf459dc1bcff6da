// Adds readings of collections of Python objects to a finished trace, for tests.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

struct ObjectSamples {
  std::string path = "main: records", place = "train.py:9";
  std::function<std::int64_t(std::int64_t step)> entries = [](std::int64_t step) { return step * 1000; };
  std::int64_t every = 5;   ///< steps from one reading to the next
  std::int64_t until = 60;  ///< no reading after this step
  std::int64_t counts = 0;  ///< steps that pass while a reading counts
  std::int64_t bytes_each = 250;
  bool everything = false;  ///< of the readings
  std::string entry_type = "dict";
  bool ended = false;  ///< the last reading is of a program that has ended, and lacks the collection
};

/// Adds a reading at the end of every `every`-th step of the trace at `path`, which has a collection if it has entries.
inline Status add_object_samples(const std::string& path, const ObjectSamples& how) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  std::string sql =
      "CREATE TEMP TABLE IF NOT EXISTS ends AS SELECT row_number() OVER (ORDER BY from_seq) AS n, from_seq, from_ns"
      " FROM mark WHERE kind = 'step';"
      "INSERT OR IGNORE INTO string(id, text) VALUES(9102, 'list'), (9104, 'str, float');";
  for (const std::string& text : {how.path, how.place, how.entry_type}) {
    sql += "INSERT INTO string(text) SELECT '" + text + "' WHERE NOT EXISTS (SELECT 1 FROM string WHERE text = '" +
           text + "');";
  }
  DCMT_RETURN_IF_ERROR(database.execute(sql.c_str()));
  DCMT_ASSIGN_OR_RETURN(Statement count, database.prepare("SELECT max(n) FROM temp.ends"));
  DCMT_RETURN_IF_ERROR(count.step().status());
  const std::int64_t steps = count.integer(0);
  for (std::int64_t step = how.every; step <= std::min(steps, how.until); step += how.every) {
    const std::string n = std::to_string(step), end = std::to_string(std::min(steps, step + how.counts));
    const std::string scan = std::to_string(200 + step);
    const bool is_last = how.ended && step + how.every > steps;
    sql =
        "INSERT OR IGNORE INTO scan(id, from_seq, from_ns, to_ns, storages, owned, objects, torn, collecting, "
        "everything,"
        " ended, counted_ns) SELECT " +
        scan + ", from_seq, from_ns, (SELECT from_ns FROM temp.ends WHERE n = " + end + "), 0, 0, 0, 0, 0, " +
        (how.everything ? "1" : "0") + ", " + (is_last ? "1" : "0") + ", from_ns FROM temp.ends WHERE n = " + n + ";";
    const std::int64_t entries = is_last ? 0 : how.entries(step);
    if (entries > 0) {
      sql += "INSERT INTO collection SELECT " + scan + ", (SELECT count(*) FROM collection WHERE scan = " + scan +
             "), path.id, " + (how.place.empty() ? "NULL" : "place.id") + ", 9102, 1, " + std::to_string(entries) +
             ", " + std::to_string(8 * entries) + ", " + std::to_string(how.bytes_each * entries) +
             ", entry.id, 9104 FROM string path, string place, string entry WHERE entry.text = '" + how.entry_type +
             "' AND path.text = '" + how.path + "' AND place.text = '" + how.place + "';";
    }
    DCMT_RETURN_IF_ERROR(database.execute(sql.c_str()));
  }
  return {};
}

}  // namespace dcmt::testing
