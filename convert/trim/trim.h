// A small trace of a window: the window's rows, and the sums of the rest of the run.
//
// A trace of a long run has the same form: rows of the stretches that were kept, sums of the others. Therefore, a
// window consists of whole stretches, usually steps. Each stretch opens with everything that is alive then.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// The stretches that a window contains.
struct TrimWindow {
  Sequence after, to;  ///< the first record comes after `after`, the last one is `to`
  std::int64_t stretches = 0, of = 0;
  std::int64_t steps = 0;  ///< steps that end in it
};

/// The smallest window of whole stretches that contains everything from `from` to `to`. Fails with kUsage if there is
/// none: it ends before it begins, its rows were not kept, or the trace has no stretches.
Expected<TrimWindow> trim_window(const analyzer::TraceData& data, Sequence from, Sequence to);

/// Writes a new, finished trace. `path` must not exist. Fails with kBadInput, kIo, or kStopped if `watch` stops it.
Status write_trimmed(Database& source, const TrimWindow& window, const std::string& path,
                     const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
