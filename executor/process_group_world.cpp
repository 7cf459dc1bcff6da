#include "executor/process_group_world.h"

#include <ATen/ops/empty_like.h>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <exception>

// Torch 2.13 renamed two of the collectives. All supported versions still have the old names.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace dcmt::zero3 {
namespace {

/// Transfers tensors as bytes, because a backend may not support every dtype.
at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.view({-1}).view(at::kByte); }

class ProcessGroupWorld final : public World {
 public:
  explicit ProcessGroupWorld(c10::intrusive_ptr<c10d::ProcessGroup> group) : group_(std::move(group)) {}

  int rank() const override { return group_->getRank(); }
  int size() const override { return group_->getSize(); }
  void leave() override { left_ = true; }

 private:
  void run_gathers(const std::vector<GatherTask>& tasks, const Place& place) override {
    in_group(place, [&] {
      for (const GatherTask& task : tasks) {
        if (task.shard.numel() == 0) continue;
        at::Tensor from = bytes_of(task.shard);
        at::Tensor into = bytes_of(task.into);
        group_->_allgather_base(into, from)->wait();
      }
    });
  }

  void run_reductions(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) override {
    in_group(place, [&] {
      for (const ReduceTask& task : tasks) {
        if (task.into.numel() == 0) continue;
        const at::Tensor parts = at::empty_like(task.from);
        at::Tensor from = bytes_of(task.from);
        at::Tensor into = bytes_of(parts);
        std::vector<std::int64_t> equal;
        group_->alltoall_base(into, from, equal, equal)->wait();
        add_up(parts, task.into, reduction);
      }
    });
  }

  void add_up(const at::Tensor& parts, const at::Tensor& into, Reduction reduction) const {
    into.copy_(parts.narrow(0, 0, into.numel()));
    for (int rank = 1; rank < size(); ++rank) into.add_(parts.narrow(0, rank * into.numel(), into.numel()));
    if (reduction == Reduction::kMean) into.div_(size());
  }

  template <typename Work>
  void in_group(const Place& place, const Work& work) {
    if (left_) fail(place, "this rank has left the world");
    try {
      work();
    } catch (const std::exception& error) {
      fail(place, error.what());
    }
  }

  const c10::intrusive_ptr<c10d::ProcessGroup> group_;
  bool left_ = false;
};

}  // namespace

std::shared_ptr<World> process_group_world(const std::string& group, const Place& place) {
  try {
    return std::make_shared<ProcessGroupWorld>(c10d::resolve_process_group(group));
  } catch (const std::exception& error) {
    fail(place, error.what());
  }
}

}  // namespace dcmt::zero3

#pragma GCC diagnostic pop
