// What ranks of a run have allocated, beside each other: peaks, what they consist of, growth from step to step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// Numbers of ranks, ascending.
using Ranks = std::vector<std::int64_t>;

/// One rank's memory on its first device, with texts of its own. Small: heights are kept where they change.
struct RankMemory {
  struct Place {
    std::string site;  ///< of allocations: "train.py:9 main"
    Bytes at_peak;
    std::vector<std::pair<std::int64_t, Bytes>> at_ends;  ///< by step number: from its end on so many bytes
  };

  std::int64_t rank = -1;
  Bytes peak;
  std::vector<std::int64_t> steps;  ///< that ended and have all their rows
  std::vector<Bytes> ends;          ///< allocated at the ends of these
  std::vector<Place> places;        ///< by site
};

[[nodiscard]] RankMemory rank_memory(const Analysis& analysis);

/// Ranks that have equally many bytes.
struct BytesOfRanks {
  Ranks ranks;
  Bytes bytes;
};

struct MemoryDifference {
  struct Growth {
    Ranks ranks;
    std::int64_t bytes_a_step = 0;  ///< of the bytes allocated at the ends of steps; below 0: they shrink
  };
  struct Place {
    std::string site;
    std::vector<BytesOfRanks> sides;        ///< at the peaks, most bytes first
    std::optional<std::int64_t> from_step;  ///< from its end on the ranks differ; nullopt: only within steps
  };

  std::vector<BytesOfRanks> peaks;   ///< most bytes first
  std::vector<Growth> growth;        ///< most first; empty: fewer than two steps are common to the ranks
  std::int64_t first = 0, last = 0;  ///< these steps
  std::vector<Place> places;         ///< the one that differs most first; a few
};

/// nullopt if the peaks differ by less than 1 MiB or a twentieth of the highest, and so does what the ranks gained from
/// the first to the last step in common: batches need not be equal on all ranks.
[[nodiscard]] std::optional<MemoryDifference> compare_memory(const std::vector<const RankMemory*>& ranks);

}  // namespace dcmt::analyzer
