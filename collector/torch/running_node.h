// Which of autograd's nodes runs, asked only where something is recorded.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

/// Once. False if this torch does not export what is looked for: nodes then have no names in `lifetimes`.
bool prepare_running_node() noexcept;

/// String id of the name of the node that runs on the calling thread; 0: none does, or nodes are observed anyway. A
/// callback for each would cost a third of what `lifetimes` costs in all (docs/adr/0017).
std::uint64_t running_node() noexcept;

}  // namespace dcmt::torch_provider
