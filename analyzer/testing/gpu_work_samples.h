// Adds work of GPUs to a finished trace, for tests.
#pragma once

#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

/// On cuda:0: a kernel on the default stream (100 to 200 ns), one of another name beside it on stream 1 (150 to 250),
/// a copy of 64 bytes (400 to 410), and the first kernel again (500 to 600); on cuda:1 a fill on a stream that is not
/// known (0 to 5). The first kernel was given by train.py:8,
/// in operator 1.
inline Status add_gpu_work(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  return database.execute(
      "INSERT INTO string(id, text) VALUES(9501, 'train.py'), (9502, 'serve'), (9503, 'gemm'), (9504, 'sine');"
      "INSERT INTO frame(id, file, function, line) VALUES(9501, 9501, 9502, 8);"
      "INSERT INTO stack(id, parent, frame) VALUES(9501, NULL, 9501);"
      "INSERT INTO gpu_work(from_ns, to_ns, gpu, stream, kind, name, bytes, graph, stack, operator) VALUES"
      "(500, 600, 0, 0, 'kernel', 9503, NULL, 0, 9501, 1), (100, 200, 0, 0, 'kernel', 9503, NULL, 0, 9501, 1),"
      "(150, 250, 0, 1, 'kernel', 9504, NULL, 1, NULL, NULL), (400, 410, 0, 0, 'copy to GPU', NULL, 64, 0, NULL, NULL),"
      "(0, 5, 1, NULL, 'fill', NULL, 16, 0, NULL, NULL)");
}

}  // namespace dcmt::testing
