// When a growing container got the small storages that a reading counted in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/growth/growth.h"
#include "analyzer/growth/rounds.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A size that gets rows late was added as often before. The rest came with what has rows, as much in each round. Each
/// is of use as long as those with rows: until the program is where it was when the use of one of those ended.
class SmallCounted {
 public:
  /// @param storages  with rows, in the order of creation
  /// @param bytes  that the reading counted
  /// @param read  when
  SmallCounted(const TraceData& data, const Rounds& rounds, const std::vector<GrowingStorage>& storages,
               std::int64_t bytes, Sequence read);

  struct Kept {
    Sequence from;           ///< of no use from there on
    std::int64_t bytes = 0;  ///< of all that is not
  };
  /// Ascending. Empty: nothing is known of its rounds.
  [[nodiscard]] const std::vector<Kept>& kept() const { return kept_; }

 private:
  struct Added {
    Sequence from, until;  ///< `until` zero: of use to the end
    double bytes = 0;
  };
  using ByRound = std::map<std::size_t, std::vector<Added>>;
  /// What was added of a size before the first rows of it.
  void add_before(const ByRound& rows, std::size_t first_of_all, std::vector<Added>& before);
  /// The point of an earlier round at which the program was where it was then.
  [[nodiscard]] Sequence same_point(Sequence then, std::size_t rounds_before);
  using ByPlace = std::map<StackId, std::vector<Sequence>>;
  [[nodiscard]] const ByPlace& births_in(std::size_t round);
  [[nodiscard]] Sequence begin_of(std::size_t round) const { return round == 0 ? Sequence() : rounds_.end(round - 1); }

  const Rounds& rounds_;
  struct Birth {
    Sequence at;
    StackId place;
  };
  std::vector<Birth> births_;                 ///< of storages that have rows from the begin on
  std::map<std::size_t, ByPlace> births_in_;  ///< rounds that were asked for
  std::vector<Kept> kept_;
};

}  // namespace dcmt::analyzer
