// Ranks that are processes with a GPU each. They use an NCCL communicator that belongs to the executor.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "executor/errors.h"
#include "executor/world.h"

namespace dcmt::zero3 {

/// One rank makes these bytes, and all ranks join with them. The program sends them to the other ranks.
at::Tensor nccl_unique_id(const Place& place);

/// Waits until all ranks have joined. Collectives run on the current stream of `device`. Lengths and dtypes are
/// compared when parameters are registered. If a rank does not call a collective, it never ends on the others; no rank
/// can detect that.
///
/// An error leaves no group open. Wrong arguments do no harm; any other error ends the communicator, and later
/// collectives report that.
///
/// `symmetric_group` is a process group of the same ranks. With it, all-gathers use symmetric memory; this function
/// throws if the platform has none.
std::shared_ptr<World> join_nccl_world(const at::Tensor& unique_id, int rank, int size, c10::Device device,
                                       const std::optional<std::string>& symmetric_group, const Place& place);

}  // namespace dcmt::zero3
