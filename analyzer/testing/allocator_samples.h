// Gives a finished trace a GPU whose allocator has segments, for tests.
#pragma once

#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::testing {

/// Replaces the blocks of the trace at `path`, which needs 16 sequences. In MiB, with rounding in bytes:
///   seq  3: block 3, 300 B of 512, in a segment of 2
///   seq  5: block 5, 4 less 100 B, in a segment of 20
///   seq  7: block 7, 8 on stream 1, in a segment of 20; freed at 10, in use until 12
///   seq  9: block 9, 1 KiB, in a segment of 2 of the private pool (0, 3); freed at 11
///   seq 14: block 14, 18, in a segment of 18; freed at 15
/// At seq 16 a request for 1 GiB has no success: the device has 8 MiB more.
/// @param agrees  false: the first segment has another size than torch would give it
inline Status add_allocator_samples(const std::string& path, bool agrees = true) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  DCMT_RETURN_IF_ERROR(database.execute(R"sql(
    DELETE FROM block;
    INSERT INTO block(id, address, bytes, gpu, thread, late, seq_length, from_ns, ns_length, stream, wait_seq_length,
                      wait_ns_length, rounding)
      VALUES(3, 1 << 30, 512, 0, 1, 0, NULL, 3000, NULL, 0, NULL, NULL, 212),
            (5, 2 << 30, 4 << 20, 0, 1, 0, NULL, 5000, NULL, 0, NULL, NULL, 100),
            (7, 3 << 30, 8 << 20, 0, 1, 0, 3, 7000, 3000, 1, 2, 2000, 0),
            (9, 4 << 30, 1024, 0, 1, 0, 2, 9000, 2000, 0, NULL, NULL, 0),
            (14, 5 << 30, 18 << 20, 0, 1, 0, 1, 14000, 1000, 0, NULL, NULL, 0);
    INSERT INTO segment(id, gpu, address, bytes, stream, expandable, from_seq, from_ns, pool)
      VALUES(1, 0, 1 << 30, 2 << 20, 0, 0, 2, 2000, 0),
            (2, 0, 2 << 30, 20 << 20, 0, 0, 4, 4000, 0),
            (3, 0, 3 << 30, 20 << 20, 1, 0, 6, 6000, 0),
            (4, 0, 4 << 30, 2 << 20, 0, 0, 8, 8000, 3),
            (5, 0, 5 << 30, 18 << 20, 0, 0, 13, 13000, 0);
    INSERT OR REPLACE INTO string(id, text) VALUES(9101, 'garbage_collection_threshold:0.8'), (9102, 'cuBLAS workspace');
    INSERT INTO allocator(id, gpu, seq, ns, settings) VALUES(1, 0, 1, 1000, 9101);
    INSERT INTO oom(id, gpu, requested, allocated, reserved, free, thread, ns)
      VALUES(16, 0, 1 << 30, 4194816, 62 << 20, 8 << 20, 1, 16000);
    UPDATE block SET storage_back = 1 WHERE id = 3;
    UPDATE block SET owner = 9102 WHERE id = 5;
  )sql"));
  return agrees ? Status() : database.execute("UPDATE segment SET bytes = 4 << 20 WHERE id = 1");
}

/// Gives each block of the trace at `path` a segment of its own that begins with it. Blocks need whole 2 MiB, from 10
/// on.
inline Status add_segment_of_each_block(const std::string& path) {
  DCMT_ASSIGN_OR_RETURN(Database database, Database::open(path, OpenMode::kReadWrite));
  return database.execute(R"sql(
    UPDATE block SET address = id << 36, rounding = 0, stream = 0;
    INSERT INTO segment(id, gpu, address, bytes, stream, expandable, from_seq, from_ns, pool)
      SELECT id, gpu, address, bytes, 0, 0, from_seq, from_ns, 0 FROM block;
  )sql");
}

}  // namespace dcmt::testing
