// What is alive by the stacks that allocated it: a tree of frames, the outermost first.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/live_set.h"

namespace dcmt::model {

struct StackTree {
  std::string name;  ///< "train.py:12 main"; of the root empty
  Bytes bytes;       ///< of it and of all below
  std::int64_t blocks = 0;
  std::vector<StackTree> inner;  ///< most bytes first
};

/// Blocks without a stack are below a frame that says who keeps them, where that is known. Frames of libraries are left
/// out.
[[nodiscard]] StackTree stack_tree_of(const LiveSet& live);

}  // namespace dcmt::model
