// Puts the traces of several ranks on one clock: each rank's times have their own zero, and on several machines their
// own rate. What ranks do together tells how they lie: collectives, and ends of steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What a rank's place on the common clock was told from.
enum class AlignedBy : std::uint8_t {
  kItself,     ///< it is the rank whose clock is the common one
  kEvents,     ///< collectives and steps that both ranks have
  kWallClock,  ///< nothing in common: what the machines call the time, good to milliseconds at best
  kNothing,
};

/// From a rank's clock to the common one: between anchors by straight lines, outside by the nearest anchor.
struct RankClock {
  struct Anchor {
    TimeNs at;                ///< on the rank's clock, ascending
    std::int64_t offset = 0;  ///< common less rank
  };

  std::int64_t rank = -1;
  AlignedBy by = AlignedBy::kNothing;
  std::vector<Anchor> anchors;
  std::int64_t error_ns = 0;  ///< kEvents: the largest distance of a matched event from where the anchors put it
  std::size_t steps = 0;      ///< ends of steps matched
  std::size_t collectives = 0;

  [[nodiscard]] TimeNs common(TimeNs at) const;
};

/// The moments of one rank that others may share: what of a trace is kept for align_ranks.
struct RankEvents {
  std::int64_t rank = -1;
  std::int64_t real_offset_ns = 0;  ///< from its clock to the wall clock; 0: not known
  TimeNs start;
  /// By the step's number and the collective's name (empty: the step's end).
  std::map<std::pair<std::int64_t, std::string>, std::vector<TimeNs>> moments;
};
[[nodiscard]] RankEvents rank_events(const TraceData& data);

/// One clock for each rank, in their order; the first one's is the common clock. The n-th collective of a name in a
/// step is matched with the n-th of that name in the same step of the first rank, if both have equally many.
[[nodiscard]] std::vector<RankClock> align_ranks(const std::vector<RankEvents>& ranks);

}  // namespace dcmt::analyzer
