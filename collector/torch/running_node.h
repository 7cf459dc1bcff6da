// Which of autograd's nodes runs, asked only where something is recorded.
#pragma once

#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {

/// Once. False if this torch does not export what is looked for: nodes then have no names in `lifetimes`.
bool prepare_running_node() noexcept;

/// While it lives, the node that runs on the thread counts as an operator of the thread's, unless nodes are observed
/// anyway: a callback for each would cost a third of what `lifetimes` costs in all (docs/adr/0017).
class RunningNode {
 public:
  explicit RunningNode(TorchThread* thread) noexcept;
  ~RunningNode();
  RunningNode(const RunningNode&) = delete;
  RunningNode& operator=(const RunningNode&) = delete;

 private:
  TorchThread* thread_ = nullptr;
  char name_[128];
};

}  // namespace dcmt::torch_provider
