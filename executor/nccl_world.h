// The ranks are processes with a GPU each, over a communicator of NCCL that is the executor's own.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

/// Bytes that one rank makes and all ranks join with; how they get there is the program's affair.
at::Tensor nccl_unique_id(const Place& place);

/// Waits until all ranks have come. Collectives run on the current stream of `device`. Lengths and dtypes are compared
/// when parameters are registered; a collective that some rank does not call never ends, which no rank can know.
///
/// An error leaves no group open. What was wrong with the arguments harms nothing; any other error ends the
/// communicator, and collectives say so from there on.
///
/// With `symmetric_group`, a process group of the same ranks, all-gathers go through symmetric memory; where the
/// platform has none, this throws.
std::shared_ptr<World> join_nccl_world(const at::Tensor& unique_id, int rank, int size, c10::Device device,
                                       const std::optional<std::string>& symmetric_group, const Place& place);

}  // namespace dcmt::zero3
