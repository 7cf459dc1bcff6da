// Adds what sampled allocations of C and C++ are alive to a finished trace, for tests.
#pragma once

#include <functional>
#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

struct NativeSamples {
  std::int64_t site = 1;
  std::string object = "/lib/libcache.so", function = "keep_record(int)", file = "cache.c";
  /// Bytes that are alive at the end of a step, and the standard error.
  std::function<std::int64_t(std::int64_t step)> bytes = [](std::int64_t step) { return step * 200'000; };
  std::function<std::int64_t(std::int64_t step)> least = bytes;  ///< since the end of the step before
  std::int64_t deviation = 100'000;
  std::int64_t from = 1, until = 60;  ///< no reading before and after these steps
};

/// Adds a reading at the end of every step of the trace at `path`.
inline Status add_native_samples(const std::string& path, const NativeSamples& how) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  std::string sql =
      "CREATE TEMP TABLE IF NOT EXISTS ends AS SELECT row_number() OVER (ORDER BY from_seq) AS n, from_seq, from_ns "
      "FROM mark WHERE "
      "kind = 'step';"
      "INSERT OR IGNORE INTO string(id, text) VALUES(9401, 'train.py'), (9402, 'serve');"
      "INSERT OR IGNORE INTO frame(id, file, function, line) VALUES(9401, 9401, 9402, 8);"
      "INSERT OR IGNORE INTO stack(id, parent, frame) VALUES(9401, NULL, 9401);"
      "INSERT OR REPLACE INTO meta(key, value) VALUES('native_interval', 16384), ('native_missed', 0);";
  const std::string site = std::to_string(how.site);
  for (const std::string& text : {how.object, how.function, how.file}) {
    sql += "INSERT INTO string(text) SELECT '" + text + "' WHERE NOT EXISTS (SELECT 1 FROM string WHERE text = '" +
           text + "');";
  }
  sql += "INSERT INTO native_site(id, call, stack) VALUES(" + site + ", 'malloc', 9401);";
  sql += "INSERT INTO native_frame(site, depth, object, function, offset, file, line) SELECT " + site +
         ", 0, o.id, f.id, 28, s.id, 12 FROM string o, string f, string s WHERE o.text = '" + how.object +
         "' AND f.text = '" + how.function + "' AND s.text = '" + how.file + "';";
  for (std::int64_t step = how.from; step <= how.until; ++step) {
    const std::string bytes = std::to_string(how.bytes(step));
    sql += "INSERT INTO native_live(reading, site, seq, ns, bytes, deviation, samples, made, least) SELECT " +
           std::to_string(step) + ", " + site + ", from_seq, from_ns, " + bytes + ", " + std::to_string(how.deviation) +
           ", " + std::to_string(how.bytes(step) / 16384) + ", " + std::to_string(2 * how.bytes(step)) + ", " +
           std::to_string(how.least(step)) + " FROM temp.ends WHERE n = " + std::to_string(step) + ";";
  }
  return database.execute(sql.c_str());
}

}  // namespace dcmt::testing
