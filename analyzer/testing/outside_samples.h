// Adds samples of a process's memory to a finished trace, for tests.
#pragma once

#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

struct OutsideSamples {
  std::string kind = "malloc";       ///< the class that grows
  std::int64_t per_step = 1 << 20;   ///< bytes
  std::int64_t confirmed = 1 << 20;  ///< the part that the classes confirm
  std::int64_t mapped = 1 << 20;     ///< growth of the mappings
  std::int64_t torch = 0;            ///< bytes per step of torch's allocator
  std::int64_t free = 0;             ///< bytes per step that malloc has free, at one more reading, after step 40
  bool gpu = false;           ///< of GPU 0 500 MB beside torch, 1 MB more each step; of GPU 1 200 MB of the process
  bool arrays = false;        ///< "main: rows" holds them, at two readings of the memory; rows.py:2 adds them
  std::string type = "list";  ///< of their holder
};

/// Adds a sample at the end of each step of the trace at `path`, with classes at the third and the last.
inline Status add_outside_samples(const std::string& path, const OutsideSamples& how) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  const std::string grown = " * " + std::to_string(how.per_step), confirmed = " * " + std::to_string(how.confirmed);
  const bool is_shared = how.kind.starts_with("shared"), is_file = how.kind == "files";
  const auto counted = [&](bool grows) { return grows ? "n" + grown : std::string("0"); };
  std::string sql =
      "CREATE TEMP TABLE at AS SELECT row_number() OVER (ORDER BY from_seq) AS n, from_seq, from_ns FROM mark"
      " WHERE kind = 'step';"
      "INSERT INTO resident SELECT n, from_seq, from_ns, 200000000 + n * " +
      std::to_string(how.torch) + " + " + counted(!is_shared && !is_file) + ", 50000000 + " + counted(is_file) +
      ", 1000000 + " + counted(is_shared) + ", 5000000 + n * " + std::to_string(how.torch) +
      ", 400000000 FROM temp.at;"
      "INSERT OR IGNORE INTO string(id, text) VALUES(9001, 'main: rows'), (9002, '" +
      how.type +
      "'), (9003, '/data/rows.bin'),"
      " (9004, 'train.py:9');"
      "INSERT INTO mapped SELECT n, '" +
      how.kind + "', 60000000 + n" + confirmed + ", 5000000, 70000000 + n * " + std::to_string(how.mapped) +
      ", 3, 9003, CASE n WHEN 40 THEN 40 * " + std::to_string(how.free) + " END FROM temp.at WHERE n IN (SELECT " +
      (how.free > 0 ? "40 UNION SELECT " : "") +
      "3 UNION SELECT max(n) FROM temp.at);"
      "INSERT OR IGNORE INTO mapped SELECT n, 'libraries', 50000000, 0, 90000000, 30, NULL, NULL FROM temp.at"
      " WHERE n IN (SELECT 3 UNION SELECT max(n) FROM temp.at);"
      "INSERT OR REPLACE INTO meta VALUES('cgroup_limit', 500000000), ('cgroup_kills', 1), ('exit', 'signal 9');";
  if (how.gpu) {
    sql +=
        "INSERT INTO gpu_memory(id, ns, gpu, used, total, process, reserved)"
        " SELECT n, from_ns, 0, 900000000 + n * 1000000, 4000000000, NULL, 400000000 FROM temp.at;"
        "INSERT INTO gpu_memory(id, ns, gpu, used, total, process, reserved)"
        " SELECT 1000 + n, from_ns, 1, 900000000, 4000000000, 600000000, 400000000 FROM temp.at;"
        "INSERT INTO meta VALUES('gpu_memory_unknown', 'GPU-2b is divided into instances (MIG)');";
  }
  if (how.arrays) {
    sql +=
        "INSERT INTO scan(id, from_seq, from_ns, to_ns, storages, owned, objects, torn, collecting)"
        " SELECT 100 + n, from_seq, from_ns, from_ns, 0, 0, 0, 0, 0 FROM temp.at WHERE n % 10 = 0;"
        "INSERT INTO string(id, text) VALUES(9005, '/home/user/rows.py');"
        "INSERT INTO source(path, text) VALUES(9005, 'def main():\n  rows.append(x)\nmain()\n');"
        "INSERT INTO array_holder SELECT 100 + n, 0, 9001, 9004, 9002, n, n" +
        grown + " FROM temp.at WHERE n % 10 = 0;";
  }
  return database.execute(sql.c_str());
}

}  // namespace dcmt::testing
