// A clock that needs no steps: it counts what a program has finished with.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What a WorkClock counts.
enum class Work {
  kEnds,       ///< storages that have died, and turns
  kSmallToo,   ///< and each time that small blocks, whose storages have no rows, became fewer
  kTurnsOnly,  ///< a compiler's work in a loop's first turn is as much as many later turns make
  kLargeMade,  ///< births of storages of followed sizes, but only one between two of the others: these become many once
               ///< smaller sizes are followed, too, as those that grow are
};

/// The work of a program up to a point: the storages that have died, and the steps and backward passes that have ended.
/// Making a model or a data set is little work, whatever its time and its bytes. Of intervals with sums only, the trace
/// has no deaths: these are taken to be as frequent there as elsewhere.
class WorkClock {
 public:
  /// @param end  later events belong to the end of the program
  /// @param turns  ends of the steps and backward passes
  WorkClock(const TraceData& data, Sequence end, const std::vector<Sequence>& turns, Work counted);

  [[nodiscard]] double at(Sequence seq) const;
  [[nodiscard]] double total() const { return at(end_); }

 private:
  struct Unrecorded {
    Sequence from, to;
    double before = 0;  ///< length of those before it
  };
  [[nodiscard]] double unrecorded_before(Sequence seq) const;

  const Sequence end_;
  std::vector<Sequence> ticks_;
  std::vector<Unrecorded> unrecorded_;
  double rate_ = 0;  ///< ticks for each sequence number
};

}  // namespace dcmt::analyzer
