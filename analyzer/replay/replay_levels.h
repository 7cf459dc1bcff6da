// Other allocations while a plan's buffers came and went: the rest of the curve, between the plan's events.
#pragma once

#include <vector>

#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

/// Bytes that a buffer of the replay occupies in a stretch.
struct OwnedBytes {
  Sequence from, to;  ///< `to` zero: to the end
  Bytes bytes;
};

/// Inserts events of kind kLevel before and between `plan.events`, which must be in order: for each stretch between two
/// events its highest and its last height, without the buffers' bytes. Fills `plan.begin`.
void add_levels(const TraceData& data, const std::vector<OwnedBytes>& owned, ReplayPlan& plan);

}  // namespace dcmt::analyzer
