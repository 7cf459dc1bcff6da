// Converts a memory snapshot of torch to a trace, so that everything that reads traces can read it.
#pragma once

#include <string>

#include "analyzer/load/watch.h"
#include "convert/snapshot/memory_snapshot.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Writes a finished trace. `path` must not exist. The trace has diagnostics about what a snapshot lacks. Fails with
/// kIo, or kStopped if `watch` stops it.
Status write_snapshot_trace(const MemorySnapshot& snapshot, const std::string& path, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
