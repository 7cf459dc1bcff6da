// The ranks are processes of a torch process group that knows CPU tensors, such as gloo.
#pragma once

#include <memory>
#include <string>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

/// `group` is the name of a group that torch.distributed made (its group_name). Sums are made here, in the order of the
/// ranks: the same bits as in the simulated world. Collectives that do not match are not compared; the group's own time
/// limit ends them.
std::shared_ptr<World> process_group_world(const std::string& group, const Place& place);

}  // namespace dcmt::zero3
