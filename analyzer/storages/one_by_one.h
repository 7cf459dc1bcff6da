// Detects that each step drops one storage of a kind that others have replaced, in any order of creation.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// A loader with workers delivers batches in order, but may have received some of them early. Even so, each step drops
/// one when another one exists. Therefore, from the first to the last step that drops any:
/// - each step drops the same number, and the same number of others are alive then;
/// - most of them end in the step after the one that made them, unlike those of a buffer of fixed length;
/// - what is alive at the end is not older than those that ended became.
/// False if such a step has only sums.
/// @param alike  all storages of one place and size
[[nodiscard]] bool replaced_one_by_one(const std::vector<const Storage*>& alike, const std::vector<Step>& steps);

}  // namespace dcmt::analyzer
