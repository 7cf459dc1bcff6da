// Whether each step drops one storage of a kind that others have replaced, whatever the order in which they were made.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// A loader with workers hands on batches in order, and may have received some of them early. Each step drops one all
/// the same, when another one is there. So, from the first step that drops any to the last:
/// - each step drops equally many, and as many others are alive then;
/// - most of them end in the step after the one that made them, as those of a buffer of fixed length do not;
/// - what is alive at the end is not older than those that ended became.
/// False where only the sums of such a step are kept.
/// @param alike  all storages that a place makes of one size
[[nodiscard]] bool replaced_one_by_one(const std::vector<const Storage*>& alike, const std::vector<Step>& steps);

}  // namespace dcmt::analyzer
