// Adds samples of forked children, and readings of them, to a finished trace, for tests.
#pragma once

#include <functional>
#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

struct ForkedChildrenSamples {
  std::int64_t children = 2, samples = 20;
  /// Bytes that each child does not share at a sample.
  std::function<std::int64_t(std::int64_t sample)> unshared = [](std::int64_t sample) { return sample * 10'000'000; };
  /// Of the collection at the reading of a sample; the first child is read at the sample in the middle, and at the
  /// last.
  std::function<std::int64_t(std::int64_t sample)> copied = [](std::int64_t sample) { return sample * 8'000'000; };
  std::function<std::int64_t(std::int64_t sample)> entries = [](std::int64_t) { return 1'000'000; };
  bool inherited = true;
};

inline Status add_forked_children(const std::string& path, const ForkedChildrenSamples& how) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  std::string sql =
      "INSERT OR IGNORE INTO string(id, text) VALUES(9201, 'pt_data_worker'), (9202, 'main: data.rows'), (9203, "
      "'list'),"
      " (9204, 'str'), (9205, 'train.py:9');";
  int id = 0, reading = 0;
  for (std::int64_t sample = 1; sample <= how.samples; ++sample) {
    const std::string at = "1, " + std::to_string(sample * 1'000'000'000);
    for (std::int64_t child = 1; child <= how.children; ++child) {
      sql += "INSERT INTO forked(id, seq, ns, pid, start, name, resident, unshared) VALUES(" + std::to_string(++id) +
             ", " + at + ", " + std::to_string(100 + child) + ", 7, 9201, 900000000, " +
             std::to_string(how.unshared(sample)) + ");";
    }
    if (sample != how.samples / 2 && sample != how.samples) continue;
    sql +=
        "INSERT INTO forked_collection(reading, position, seq, ns, pid, path, place, type, entries, bytes, unshared,"
        " entry_type, inherited) VALUES(" +
        std::to_string(++reading) + ", 0, " + at + ", 101, 9202, 9205, 9203, " + std::to_string(how.entries(sample)) +
        ", 170000000, " + std::to_string(how.copied(sample)) + ", 9204, " + (how.inherited ? "1" : "0") + ");";
  }
  return database.execute(sql.c_str());
}

}  // namespace dcmt::testing
