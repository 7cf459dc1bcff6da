// The ranks of a run together: their curves on one clock, and their differences.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/load/watch.h"
#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/ranks_apart.h"
#include "render/scene/strips.h"
#include "trace/base/status.h"

namespace dcmt::load {

struct Ranks {
  analyzer::RankComparison comparison;
  std::vector<analyzer::RankApart> apart;
  std::vector<std::string> paths;           ///< of comparison.ranks, in the same order, like all vectors below
  std::vector<analyzer::RankClock> clocks;  ///< the first one's is the common clock
  scene::Strips strips;       ///< the axis is nanoseconds of the common clock, from the begin of the first curve
  std::int64_t begin_ns = 0;  ///< begin of the axis on the common clock

  /// The position of a rank's point on the axis.
  [[nodiscard]] double axis_of(std::size_t rank, std::int64_t ns) const;
  /// The index of the opened path; paths.size() if there is none.
  [[nodiscard]] std::size_t index_of(const std::string& path) const;
};

/// Reads the traces one after the other, and keeps only small facts of them. Fails with kNotComparable if they are not
/// of one run, with kBadInput if one cannot be read, with kStopped if `watch` stops it.
Expected<std::shared_ptr<const Ranks>> read_ranks(const std::vector<std::string>& paths, const analyzer::Watch& watch);

}  // namespace dcmt::load
