// What the timeline of a device is made of: every begin and end of a block, one after the other, so that the bytes
// after all of them so far are the allocated curve at any moment.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct Change {
  enum class What {
    kBegin,   ///< of a block
    kEnd,     ///< of a block
    kLevel,   ///< bytes of which no block is known: where only sums were kept
    kMoment,  ///< one that was asked for; nothing changes
  };
  What what = What::kMoment;
  Sequence seq;
  TimeNs ns;
  const Block* block = nullptr;
  std::int64_t delta = 0;  ///< bytes

  friend bool operator<(const Change& a, const Change& b);
};

/// A moment that shall be one of the changes.
struct WantedMoment {
  Sequence seq;
  TimeNs ns;
};

/// Calls visit(change) for all changes of a device in order. What happened in an interval of which only sums were kept
/// comes at the interval's end; in it, the curve goes at once to its peak. `moments`: in any order, each of them comes
/// after what happens at the same sequence.
void for_each_change(const TraceData& data, StringId device, std::vector<WantedMoment> moments,
                     const std::function<void(const Change&)>& visit);

}  // namespace dcmt::analyzer
