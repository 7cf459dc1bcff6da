// A memory snapshot of torch as a trace, so that everything that reads traces reads it.
#pragma once

#include <string>

#include "analyzer/load/watch.h"
#include "convert/snapshot/memory_snapshot.h"
#include "trace/base/status.h"

namespace dcmt::convert {

/// Writes a finished trace. `path` must not exist. What the snapshot cannot say is in the trace as diagnostics.
/// Fails with kIo, with kStopped as `watch` says.
Status write_snapshot_trace(const MemorySnapshot& snapshot, const std::string& path, const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
