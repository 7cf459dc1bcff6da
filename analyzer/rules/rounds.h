// Rounds: the common basis of the rules about storages that outlive their step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The rounds of a run, by their ends. Round 0 makes what the program keeps.
class Rounds {
 public:
  /// The rounds are steps.
  explicit Rounds(const TraceData& data);
  /// The rounds are steps. For a program without steps they are calls: each call ends where the program reaches one
  /// place again. Of the places that it reaches repeatedly up to the end of the run, this is the first one.
  static Rounds steps_or_calls(const TraceData& data);
  [[nodiscard]] bool by_calls() const { return by_calls_; }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Number of steps, or calls, that have ended.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] Sequence end(std::size_t round) const { return ends_[round]; }
  /// The round that contains `seq`; size() after the last one.
  [[nodiscard]] std::size_t at(Sequence seq) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, seq) - ends_.begin());
  }
  /// Number of steps before this round.
  [[nodiscard]] std::int64_t steps_before(std::size_t round) const { return round == 0 ? 0 : until_[round - 1]; }
  /// Number of steps after this round.
  [[nodiscard]] std::int64_t steps_after(std::size_t round) const { return steps_ - steps_before(round + 1); }
  /// The third (0 to 2) of the steps after the round `from` in which the later round `round` lies.
  [[nodiscard]] std::size_t third(std::size_t round, std::size_t from) const {
    const std::int64_t before = steps_before(round) - steps_before(from + 1);
    return static_cast<std::size_t>(before * 3 / std::max<std::int64_t>(1, steps_after(from)));
  }

 private:
  void add_calls(const TraceData& data);

  std::vector<Sequence> ends_;
  std::vector<std::int64_t> until_;
  std::int64_t steps_ = 0;
  bool by_calls_ = false;
};

}  // namespace dcmt::analyzer
