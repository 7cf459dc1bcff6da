// The bytes that are alive by the stacks that allocated them: a tree of frames, the outermost first.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/live_set.h"

namespace dcmt::model {

struct StackTree {
  std::string name;  ///< "train.py:12 main"; empty for the root
  Bytes bytes;       ///< of this frame and all frames below
  std::int64_t blocks = 0;
  std::vector<StackTree> inner;  ///< most bytes first
};

/// Blocks without a stack lie below a frame that names who keeps them, if that is known. Frames of libraries are
/// omitted.
[[nodiscard]] StackTree stack_tree_of(const LiveSet& live);

}  // namespace dcmt::model
