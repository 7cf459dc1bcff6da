// Two traces on one axis of steps: both curves, and the difference of their columns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/compare/difference.h"
#include "analyzer/load/watch.h"
#include "render/load/session.h"
#include "render/scene/strips.h"
#include "trace/base/status.h"

namespace dcmt::load {

struct Comparison {
  std::string before, after;       ///< paths, as messages print them
  std::vector<std::string> unfit;  ///< for each trace: why differences may come from the trace itself
  analyzer::Difference difference;
  std::size_t steps = 0;  ///< steps that both ended: the axis. Each has length 1; from 0, as in `difference`
  scene::Strips strips;   ///< before, after, and after less before
};

/// The differences of `after` from `before`, as in `dc-memtrace diff`. Points into neither. A step that only one of
/// them has is not on the axis.
[[nodiscard]] std::shared_ptr<const Comparison> compare(const Session& before, const Session& after);

/// Opens the trace at `path` and compares it. In a folder, the trace with the rank of `after` is opened. Fails as
/// open_session(), and with kNotComparable if the folder has no trace of that rank.
Expected<std::shared_ptr<const Comparison>> compare_with(const std::string& path, const Session& after,
                                                         const analyzer::Watch& watch);

}  // namespace dcmt::load
