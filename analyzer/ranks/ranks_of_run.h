// What a report says of several ranks together: how well their clocks compare, and what differs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_alignment.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/ranks/rank_summary.h"

namespace dcmt::analyzer {

/// How the clocks of the ranks were put on one.
struct RankClocks {
  bool aligned = true;                      ///< false: some rank has no step or collective in common with the first one
  std::int64_t steps = 0, collectives = 0;  ///< matched, the least of the ranks
  TimeNs error;                             ///< the largest
};

/// Takes one trace after the other, and keeps nothing of them that is large.
class RanksOfRun {
 public:
  /// A trace without a rank is none of them, but a process of the run.
  void add(RankSummary summary);

  /// All traces, of ranks and of other processes, such as workers.
  [[nodiscard]] std::int64_t processes() const { return processes_; }
  /// The sum of the peaks of all on the CPU: they never had more together.
  [[nodiscard]] Bytes most_on_cpu() const { return most_on_cpu_; }

  /// nullopt for one rank.
  [[nodiscard]] std::optional<RankClocks> clocks() const;
  /// nullopt for one rank, for traces that are not of one run, and where nothing differs.
  [[nodiscard]] std::optional<RankComparison> difference() const;
  /// Moves the ranks out, of which there are two at least; the folders are lost with them. Errors as of
  /// compare_ranks().
  [[nodiscard]] Expected<RankComparison> compare() &&;
  /// The folders of the traces, as arguments of a command.
  [[nodiscard]] std::string folders() const;

 private:
  std::vector<RankEvents> events_;
  std::vector<RankFacts> ranks_;
  std::int64_t processes_ = 0;
  Bytes most_on_cpu_;
};

}  // namespace dcmt::analyzer
