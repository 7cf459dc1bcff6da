// Whether each step drops one storage of a kind that others have replaced, whatever the order in which they were made.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Of all storages that a place makes of one size. A loader with workers hands on batches
/// in order, and may have received some of them earlier than others; each step drops one all the same, when another one
/// is there. So: each step drops equally many, from the first one that drops any to the last; as many others are alive
/// then; and most of them end in the step after the one that made them, as those of a buffer of fixed length do not.
/// What is alive at the end of the last step must not be older than those that ended became. Of a step whose sums alone
/// are kept nothing is known: false then.
[[nodiscard]] bool replaced_one_by_one(const std::vector<const Storage*>& alike, const std::vector<Step>& steps);

}  // namespace dcmt::analyzer
