// Two traces on one axis, which is their steps: both curves, and the difference of their columns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzer/compare/difference.h"
#include "analyzer/load/watch.h"
#include "gui/load/session.h"
#include "gui/scene/strips.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

struct Comparison {
  std::string before, after;       ///< paths, as they are printed
  std::vector<std::string> unfit;  ///< of each trace, why differences may come from the trace
  analyzer::Difference difference;
  std::size_t steps = 0;  ///< that both ended: the axis; each is 1 long. Counted from 0, as `difference` does
  scene::Strips strips;   ///< before, after, after less before
};

/// What of `after` differs from `before`, as `dc-memtrace diff` has it. Points into neither. A step that only one of
/// them has is not on the axis.
[[nodiscard]] std::shared_ptr<const Comparison> compare(const Session& before, const Session& after);

/// Opens what `path` names, of a folder the trace of the rank that `after` has, and compares. Fails as open_session(),
/// with kNotComparable if the folder has no trace of that rank.
Expected<std::shared_ptr<const Comparison>> compare_with(const std::string& path, const Session& after,
                                                         const analyzer::Watch& watch);

}  // namespace dcmt::gui::load
