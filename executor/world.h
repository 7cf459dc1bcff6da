// The collectives that the executor needs: all-gathers and reduce-scatters, several in one group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "executor/errors.h"

namespace dcmt::zero3 {

/// Copies every rank's `shard`, in the order of the ranks, to `into`: contiguous, W times as many elements, same dtype.
struct GatherTask {
  at::Tensor shard;
  at::Tensor into;
};

/// The sum (or mean) over the ranks of their `from`; this rank gets its W-th part in `into`. Contiguous, same dtype.
struct ReduceTask {
  at::Tensor from;
  at::Tensor into;
};

enum class Reduction { kSum, kMean };

struct Traffic {
  std::int64_t groups = 0;
  std::int64_t gathers = 0;
  std::int64_t reductions = 0;
};

/// One rank's access to the world. Not thread-safe: one operator of a rank at a time. On a GPU, collectives are queued
/// on the current stream.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The device of all tensors in collectives.
  virtual c10::Device device() const { return at::kCPU; }

  /// Runs one group of collectives. Every rank must call it with the same sizes and dtypes. An empty group does
  /// nothing. If sizes or dtypes differ, or a rank has left, it throws on every rank and writes nothing.
  void all_gather(const std::vector<GatherTask>& tasks, const Place& place) {
    if (tasks.empty()) return;
    run_gathers(tasks, place);
    ++traffic_.groups;
    traffic_.gathers += static_cast<std::int64_t>(tasks.size());
  }
  void reduce_scatter(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) {
    if (tasks.empty()) return;
    run_reductions(tasks, reduction, place);
    ++traffic_.groups;
    traffic_.reductions += static_cast<std::int64_t>(tasks.size());
  }

  /// Counts of this rank's successful collectives.
  const Traffic& traffic() const { return traffic_; }

  /// Leaves the world and notifies the others; their collectives fail from here on.
  virtual void leave() = 0;
  /// The current work will never end because other ranks have left: stops waiting for it.
  virtual void give_up() {}

 private:
  virtual void run_gathers(const std::vector<GatherTask>& tasks, const Place& place) = 0;
  virtual void run_reductions(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) = 0;

  Traffic traffic_;
};

}  // namespace dcmt::zero3
