// A small trace of a window: its rows, and of the rest of the run the sums.
//
// A trace of a long run is like that by itself: rows of the stretches that were kept, sums of the others. A window is
// therefore whole stretches, as a rule steps, and each opens with all that is alive then.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/load/trace_data.h"
#include "analyzer/load/watch.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::convert {

/// The stretches that a window takes in.
struct TrimWindow {
  Sequence after, to;  ///< the first record comes after `after`, the last one is `to`
  std::int64_t stretches = 0, of = 0;
  std::int64_t steps = 0;  ///< that end in it
};

/// The least whole stretches that have all from `from` to `to`. Fails with kUsage if a window of them is none: it ends
/// before it begins, its rows were not kept, or the trace has no stretches.
Expected<TrimWindow> trim_window(const analyzer::TraceData& data, Sequence from, Sequence to);

/// Writes a new, finished trace. `path` must not exist. Fails with kBadInput, kIo, with kStopped as `watch` says.
Status write_trimmed(Database& source, const TrimWindow& window, const std::string& path,
                     const analyzer::Watch& watch = {});

}  // namespace dcmt::convert
