// Opening, creating and finishing the SQLite file that is a trace.
#pragma once

#include <string>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

/// Opens a trace for reading, finished or still being written. Fails with kBadInput and one line if the file is
/// missing, unreadable, foreign, damaged or has a newer schema.
Expected<Database> open_trace(const std::string& path);

/// Creates a trace with all its tables, or nothing. Fails with kBadInput if `path` exists, and with kIo if its folder
/// cannot be written. Commits survive a kill of the process but no power failure: the recorder avoids fsync.
Expected<Database> create_trace(const std::string& path);

/// Opens an unfinished trace to continue writing, and upgrades it to this build's schema. Errors as of open_trace().
Expected<Database> reopen_trace(const std::string& path);

/// Adds the pyramid, indexes and statistics, and merges the write-ahead log, so that the trace is a single file. Call
/// it last, outside a transaction. If a reader has the file open, the log stays until that reader closes the file.
Status finish_trace(Database& database);

/// False if there is a log beside the trace, or a reader that had it open has kept it in the mode that needs one.
bool is_single_file(const std::string& path);

/// Removes the trace and its log, if they are there.
void remove_trace(const std::string& path);

/// Merges the log into the trace. Nobody else may have the file open.
Status merge_log(const std::string& path);

}  // namespace dcmt
