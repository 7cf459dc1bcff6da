// The joint part of a report about several ranks: how well their clocks compare, and how the ranks differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/rank_summary.h"

namespace dcmt::analyzer {

/// How the ranks' clocks were aligned.
struct RankClocks {
  bool aligned = true;                      ///< false: some rank shares no step or collective with the first rank
  std::int64_t steps = 0, collectives = 0;  ///< matched events; the minimum of the ranks
  TimeNs error;                             ///< the maximum of the ranks
};

/// Collects traces one by one, and keeps only small facts of them.
class RanksOfRun {
 public:
  /// A trace without a rank counts only as a process of the run.
  void add(RankSummary summary);

  /// The number of all traces: of ranks and of other processes, such as workers.
  [[nodiscard]] std::int64_t processes() const { return processes_; }
  /// The sum of all processes' peaks on the CPU: an upper bound of what they had at one time.
  [[nodiscard]] Bytes most_on_cpu() const { return most_on_cpu_; }

  /// nullopt if there is only one rank.
  [[nodiscard]] std::optional<RankClocks> clocks() const;
  /// nullopt for one rank, for traces that are not of one run, and for ranks without a difference.
  [[nodiscard]] std::optional<RankComparison> difference() const;
  /// Moves the ranks out; there must be at least two. The folders are lost with them. Errors as in compare_ranks().
  [[nodiscard]] Expected<RankComparison> compare() &&;
  /// The folders of the traces, in the form of command line arguments.
  [[nodiscard]] std::string folders() const;

 private:
  std::vector<RankEvents> events_;
  std::vector<RankFacts> ranks_;
  std::int64_t processes_ = 0;
  Bytes most_on_cpu_;
};

}  // namespace dcmt::analyzer
