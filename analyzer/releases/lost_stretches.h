// Where records are missing.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The stretches of a trace in which records were lost. What did not happen there may have happened.
class LostStretches {
 public:
  explicit LostStretches(const TraceData& data);

  /// True if a record after `from` and up to `until` may be missing. `until` zero: up to the end of the trace.
  [[nodiscard]] bool touch(Sequence from, Sequence until) const;

 private:
  struct Stretch {
    Sequence from, to;
  };
  std::vector<Stretch> stretches_;  ///< in order, apart
};

}  // namespace dcmt::analyzer
