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

  struct Stretch {
    Sequence from, to;
    std::int64_t count = 0;  ///< of records
  };
  /// In order, apart.
  [[nodiscard]] const std::vector<Stretch>& all() const { return stretches_; }

 private:
  std::vector<Stretch> stretches_;
};

}  // namespace dcmt::analyzer
