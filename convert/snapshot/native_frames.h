// What C++ frames of a stack say: the autograd node and the operator that allocated, without torch's own plumbing.
#pragma once

#include <string>
#include <vector>

#include "convert/snapshot/memory_snapshot.h"

namespace dcmt::convert {

/// "MeanBackward0 → aten::div" of the frames, innermost first: the innermost autograd node, and the outermost operator
/// that it calls. The operator alone if no node runs; empty if neither does.
[[nodiscard]] std::string node_and_operator(const std::vector<SnapshotFrame>& frames);

/// True if torch makes the stack or the block in this frame: it says nothing about the program.
[[nodiscard]] bool is_plumbing(const SnapshotFrame& frame);

}  // namespace dcmt::convert
