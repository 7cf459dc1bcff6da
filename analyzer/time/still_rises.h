// Whether memory still grows without what findings keep.
#pragma once

#include <vector>

#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

struct Rises {
  bool least = false;  ///< something else keeps more and more
  bool most = false;   ///< what is kept, or the work with it, takes more and more
};

/// Whether the least and the most that the curve of a device has without `gaps` rise steadily from `from` to `to`, by a
/// share of its peak. What fills in the beginning, or goes up once, does not count.
[[nodiscard]] Rises still_rises(const TraceData& data, StringId device, const std::vector<Gap>& gaps, Sequence from,
                                Sequence to);

}  // namespace dcmt::analyzer
