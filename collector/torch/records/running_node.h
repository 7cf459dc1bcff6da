// Finds the running node of autograd, only when something is recorded.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Call it once. False if this torch does not export the needed symbols: nodes then have no names in `lifetimes`.
bool prepare_running_node() noexcept;

/// String id of the name of the node that runs on the calling thread; 0: none runs, or nodes are observed anyway. A
/// callback for each node would cost a third of the total cost of `lifetimes` (docs/decisions/detail.md).
std::uint64_t running_node() noexcept;

}  // namespace dcmt::torch_provider
