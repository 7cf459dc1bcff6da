// A copy of a trace for people who may not see the program. Sizes, shapes, times and structure stay. Paths, names,
// source lines, arguments, the command line and the user's identity are removed.
#pragma once

#include <string>

#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// Writes a new, finished trace row by row, so that nothing else of the old file is in it. `path` must not exist. Fails
/// with kBadInput, kIo, or kStopped if `watch` stops it.
Status write_redacted(Database& source, const std::string& path, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
