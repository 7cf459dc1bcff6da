// Ranks that are processes of a torch process group with support for CPU tensors, such as gloo.
#pragma once

#include <memory>
#include <string>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

/// `group` is the name of a group that torch.distributed made (its group_name). Sums are computed here in the order of
/// the ranks, so they have the same bits as in the simulated world. Mismatched collectives are not detected; the
/// group's timeout ends them.
std::shared_ptr<World> process_group_world(const std::string& group, const Place& place);

}  // namespace dcmt::zero3
