// Finds the running node of autograd, only when something is recorded.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Call it once. False if this torch does not export the needed symbols: nodes then have no names in `lifetimes`.
bool prepare_running_node() noexcept;

/// The node that runs on the calling thread. A callback for each node would cost a third of the total cost of
/// `lifetimes` (docs/decisions/detail.md).
struct RunningNode {
  std::uint64_t name = 0;    ///< string id; 0: none runs, or nodes are observed anyway
  std::uint64_t number = 0;  ///< 1 + its sequence number on the thread that made it; 0: none runs, or it has none
};
RunningNode running_node() noexcept;

/// The sequence number that the calling thread's next node will have; 0 if this torch does not export it.
std::uint64_t next_node() noexcept;

}  // namespace dcmt::torch_provider
