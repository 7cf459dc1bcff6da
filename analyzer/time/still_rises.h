// Whether memory still grows without what findings keep.
#pragma once

#include <vector>

#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// True if the least that the curve of a device has without `gaps` rises steadily from `from` to `to`, by a share of
/// its peak: something else keeps more and more. What fills in the beginning, or goes up once, does not count.
[[nodiscard]] bool still_rises(const TraceData& data, StringId device, const std::vector<Gap>& gaps, Sequence from,
                               Sequence to);

}  // namespace dcmt::analyzer
