// Opening, creating and finishing the SQLite file that is a trace.
#pragma once

#include <cstdint>
#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

/// 'DCMT', at offset 68 of the file, where file(1) finds it.
inline constexpr std::int32_t kApplicationId = 0x44434D54;
/// The newest schema this build writes; it reads 1 to this.
inline constexpr int kSchemaVersion = 10;

/// Opens a trace for reading, finished or still being written. A file that is missing, unreadable, foreign, damaged
/// or of a newer schema is kBadInput with one line that says so.
Expected<Database> open_trace(const std::string& path);

/// Creates a trace and its tables, whole or not at all. `path` must not exist: an existing file is kBadInput, a folder
/// that cannot be written to kIo. Commits survive a kill of the process, not a power cut: the recorder wants no fsync.
Expected<Database> create_trace(const std::string& path);

/// Opens an unfinished trace to write on, brought to this build's schema. Errors as of open_trace().
Expected<Database> reopen_trace(const std::string& path);

/// Adds the pyramid, indexes and statistics and folds the write-ahead log in, so that the file stands alone. Call it
/// last, outside a transaction. If a reader holds the file open at this moment, the log stays until that reader leaves.
Status finish_trace(Database& database);

}  // namespace dcmt
