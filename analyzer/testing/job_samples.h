// Adds samples of a job's memory to a finished trace, for tests: two ranks, a worker, a shell and the recorder.
#pragma once

#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

struct SampledJob {
  bool in_group = true;   ///< the control group has only the job
  std::int64_t from = 1;  ///< id of the first sample
};

/// Three samples; the second has most. MB are added by the size of the sample.
inline Status add_job_samples(const std::string& path, const SampledJob& how) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  std::string sql =
      "INSERT OR IGNORE INTO string(id, text) VALUES(9301, 'python'), (9302, 'pt_data_worker'), (9303, 'bash'), (9304, "
      "'dc-memtrace'), (9305, '/dev/shm/torch_21_7_0'), (9306, '/dev/shm/run/21.spool'), (9307, '/dev/shm/psm_1');";
  const auto mb = [](std::int64_t bytes) { return std::to_string(bytes * 1'000'000); };
  sql += "INSERT OR REPLACE INTO meta(key, value) VALUES('pid', 21);";
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::string id = std::to_string(how.from + i);
    const std::int64_t grown = i == 1 ? 500 : 0;
    const std::string group = how.in_group ? mb(2000 + grown) + ", " + mb(1000 + grown) + ", " + mb(600) + ", " +
                                                 mb(537) + ", " + mb(340) + ", " + mb(50) + ", " + mb(4)
                                           : "NULL, NULL, NULL, NULL, NULL, NULL, NULL";
    sql += "INSERT INTO job(id, ns, pid, start, used, anonymous, file, mapped, shared, kernel, changed) VALUES(" + id +
           ", " + std::to_string((i + 1) * 1'000'000'000) + ", 20, 5, " + group + ");";
    const auto add = [&](int pid, int parent, int name, const char* role, const char* rank, std::int64_t anonymous,
                         std::int64_t file, std::int64_t shared) {
      sql +=
          "INSERT INTO job_process(sample, pid, start, parent, name, role, rank, anonymous, file, shared, swapped,"
          " resident) VALUES(" +
          id + ", " + std::to_string(pid) + ", 5, " + std::to_string(parent) + ", " + std::to_string(name) + ", '" +
          role + "', " + rank + ", " + mb(anonymous) + ", " + mb(file) + ", " + mb(shared) + ", 0, " +
          mb(anonymous + file + shared) + ");";
    };
    add(20, 10, 9303, "child", "NULL", 10, 5, 0);
    add(21, 20, 9301, "recorded", "0", 500 + grown, 100, 150);
    add(22, 20, 9301, "recorded", "1", 400, 100, 100);
    add(23, 21, 9302, "forked", "NULL", 30, 10, 50);
    add(24, 21, 9302, "forked", "NULL", 30, 10, 0);
    add(10, 1, 9304, "recorder", "NULL", 20, 8, 4);
    sql += "INSERT INTO job_shared(sample, position, kind, pid, segments, bytes, name) VALUES(" + id +
           ", 0, 'tensors', 21, 12, " + mb(200) + ", 9305), (" + id + ", 1, 'recorder', 21, 2, " + mb(70) +
           ", 9306), (" + id + ", 2, 'left', NULL, 1, " + mb(60) + ", 9307);";
  }
  return database.execute(sql.c_str());
}

}  // namespace dcmt::testing
