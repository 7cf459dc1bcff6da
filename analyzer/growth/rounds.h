// Rounds: the turns of a program's loop. What outlives its step is reported by them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

enum class RoundKind { kStep, kBackward, kCall };
/// "step", "backward", "call".
[[nodiscard]] std::string_view name_of(RoundKind kind);

/// The rounds of a run, by their ends. The last round may be open: it has no end.
class Rounds {
 public:
  static Rounds steps(const TraceData& data);
  /// Each backward pass ends a round.
  static Rounds backwards(const TraceData& data);
  /// Each call ends where the next one begins.
  /// @param begins  ascending
  static Rounds calls(const std::vector<Sequence>& begins);
  /// Steps. For a program without steps, calls: each ends where the program reaches one place again. Of the places that
  /// it reaches repeatedly up to the end of the run, this is the first one.
  static Rounds steps_or_calls(const TraceData& data);

  [[nodiscard]] RoundKind kind() const { return kind_; }
  /// Number of rounds that have ended.
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] Sequence end(std::size_t round) const { return round < size() ? ends_[round] : Sequence(); }
  /// The round that contains `seq`; size() after the last end.
  [[nodiscard]] std::size_t at(Sequence seq) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, seq) - ends_.begin());
  }
  /// Number of steps, or of other rounds, that have ended.
  [[nodiscard]] std::int64_t steps() const { return until_.empty() ? 0 : until_.back(); }
  /// The same, before this round.
  [[nodiscard]] std::int64_t steps_before(std::size_t round) const { return round == 0 ? 0 : until_[round - 1]; }

 private:
  explicit Rounds(RoundKind kind) : kind_(kind) {}
  void add(Sequence end, std::int64_t steps = 1);

  RoundKind kind_;
  std::vector<Sequence> ends_;
  std::vector<std::int64_t> until_;  ///< several steps of which the trace has only sums are one round
};

}  // namespace dcmt::analyzer
