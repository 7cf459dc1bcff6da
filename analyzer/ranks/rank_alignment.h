// Puts the traces of several ranks on one clock. Each rank's times have their own zero; on several machines they also
// run at different rates. Events that the ranks share show the offsets: collectives and ends of steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// How a rank's offset to the common clock was found.
enum class AlignedBy : std::uint8_t {
  kItself,     ///< this rank's clock is the common one
  kEvents,     ///< from collectives and steps that both ranks have
  kWallClock,  ///< nothing in common: from the machines' wall clocks, precise to milliseconds at best
  kNothing,
};

/// Converts a rank's clock to the common one: linear between anchors, by the nearest anchor outside of them.
struct RankClock {
  struct Anchor {
    TimeNs at;                ///< on the rank's clock, ascending
    std::int64_t offset = 0;  ///< common time less the rank's time
  };

  std::int64_t rank = -1;
  AlignedBy by = AlignedBy::kNothing;
  std::vector<Anchor> anchors;
  std::int64_t error_ns = 0;  ///< kEvents: the largest distance of a matched event from its place by the anchors
  std::size_t steps = 0;      ///< number of matched ends of steps
  std::size_t collectives = 0;

  [[nodiscard]] TimeNs common(TimeNs at) const;
};

/// The times of one rank's events that other ranks may share: all that align_ranks needs of a trace.
struct RankEvents {
  std::int64_t rank = -1;
  std::int64_t real_offset_ns = 0;  ///< from its clock to the wall clock; 0: unknown
  TimeNs start;
  /// Keyed by the step's number and the collective's name. An empty name stands for the step's end.
  std::map<std::pair<std::int64_t, std::string>, std::vector<TimeNs>> times;
};
[[nodiscard]] RankEvents rank_events(const TraceData& data);

/// One clock for each rank, in the same order. The clock of the first rank is the common one. In each step, the n-th
/// collective of a name is matched with the n-th of that name on the first rank, if both ranks have equally many.
[[nodiscard]] std::vector<RankClock> align_ranks(const std::vector<RankEvents>& ranks);

}  // namespace dcmt::analyzer
