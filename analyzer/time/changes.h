// The timeline of a device: every begin and end of a block in order. The sum of the changes so far is the allocated
// curve at each point.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct Change {
  enum class What {
    kBegin,  ///< of `block`
    kEnd,    ///< of `block`
    kLevel,  ///< bytes without known blocks: an interval with sums only
    kPoint,  ///< a requested point; nothing changes
  };
  What what = What::kPoint;
  Sequence seq;
  TimeNs ns;
  const Block* block = nullptr;
  std::int64_t delta = 0;  ///< bytes

  friend bool operator<(const Change& a, const Change& b);
};

/// A point that must be among the changes.
struct RequestedPoint {
  Sequence seq;
  TimeNs ns;
};

/// Calls visit(change) for all changes of a device in order. The changes of an interval with sums only come at the
/// interval's end; the curve reaches its peak at once within them. `points` may be in any order. Each of them comes
/// after all changes at the same sequence.
void for_each_change(const TraceData& data, StringId device, std::vector<RequestedPoint> points,
                     const std::function<void(const Change&)>& visit);

}  // namespace dcmt::analyzer
