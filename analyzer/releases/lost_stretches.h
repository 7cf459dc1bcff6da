// The parts of a trace in which records are missing.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The stretches of a trace in which records were lost. Events that are not in the trace may have happened there.
class LostStretches {
 public:
  explicit LostStretches(const TraceData& data);

  /// True if a record after `from` and up to `until` may be missing. A zero `until` means the end of the trace.
  [[nodiscard]] bool touch(Sequence from, Sequence until) const;

  struct Stretch {
    Sequence from, to;
    std::int64_t count = 0;  ///< number of lost records
  };
  /// In order; the stretches do not touch.
  [[nodiscard]] const std::vector<Stretch>& all() const { return stretches_; }

 private:
  std::vector<Stretch> stretches_;
};

}  // namespace dcmt::analyzer
