// What else was allocated while a plan's buffers came and went: the rest of the curve, between the plan's events.
#pragma once

#include <vector>

#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

/// Bytes that a buffer of the replay takes from one moment to another.
struct OwnedBytes {
  Sequence from, to;  ///< `to` zero: to the end
  Bytes bytes;
};

/// Puts events of kind kLevel before and between `plan.events`, which are in order: of each stretch between two of them
/// its highest and its last height, less the buffers' bytes. Fills `plan.begin`.
void add_levels(const TraceData& data, const std::vector<OwnedBytes>& owned, ReplayPlan& plan);

}  // namespace dcmt::analyzer
