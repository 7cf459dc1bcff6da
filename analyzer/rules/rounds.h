// What the rules about storages that outlive their step have in common.
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
  /// Its steps.
  explicit Rounds(const TraceData& data);
  /// Its steps; of a program without any, calls: a round ends where the program reaches the same place again, the first
  /// that it reaches to the end of the run.
  static Rounds steps_or_calls(const TraceData& data);
  [[nodiscard]] bool by_calls() const { return by_calls_; }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  /// Steps, or calls, that have ended.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] Sequence end(std::size_t round) const { return ends_[round]; }
  /// The round in which something happened; size() after the last one.
  [[nodiscard]] std::size_t at(Sequence seq) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, seq) - ends_.begin());
  }
  /// Steps before this round.
  [[nodiscard]] std::int64_t steps_before(std::size_t round) const { return round == 0 ? 0 : until_[round - 1]; }
  /// Steps after this round.
  [[nodiscard]] std::int64_t steps_after(std::size_t round) const { return steps_ - steps_before(round + 1); }
  /// In which third of what comes after the round `from` a later one lies, 0 to 2.
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
