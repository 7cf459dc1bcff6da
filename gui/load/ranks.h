// The ranks of a run beside each other: the curve of each on one clock, and what differs between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/load/watch.h"
#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/ranks_apart.h"
#include "gui/scene/strips.h"
#include "trace/base/status.h"

namespace dcmt::gui::load {

struct Ranks {
  analyzer::RankComparison comparison;
  std::vector<analyzer::RankApart> apart;
  std::vector<std::string> paths;           ///< of comparison.ranks, in their order, like all below
  std::vector<analyzer::RankClock> clocks;  ///< the first one's is the common clock
  scene::Strips strips;       ///< the axis is nanoseconds of the common clock, from the first curve's begin
  std::int64_t begin_ns = 0;  ///< where the axis begins, on the common clock

  /// Where a point of a rank lies on the axis.
  [[nodiscard]] double axis_of(std::size_t rank, std::int64_t ns) const;
  /// By the path that was opened; paths.size(): it is none of them.
  [[nodiscard]] std::size_t index_of(const std::string& path) const;
};

/// Reads the traces one after the other, and keeps nothing of them that is large. Fails with kNotComparable if they are
/// not those of one run, with kBadInput if one cannot be read, with kStopped as `watch` says.
Expected<std::shared_ptr<const Ranks>> read_ranks(const std::vector<std::string>& paths, const analyzer::Watch& watch);

}  // namespace dcmt::gui::load
