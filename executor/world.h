// What the executor asks of the ranks together: all-gathers and reduce-scatters, several in one group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "executor/errors.h"

namespace dcmt::zero3 {

/// Every rank's `shard`, in the order of the ranks, into `into`: contiguous, W times as many elements, same dtype.
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

/// One rank's place in the world. Not thread-safe: one operator of a rank at a time. On a GPU collectives are given to
/// the current stream and are done when it has come to them.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Where tensors are that every collective takes.
  virtual c10::Device device() const { return at::kCPU; }

  /// One group of collectives; every rank must come with the same sizes and dtypes. An empty group is none. Throws on
  /// every rank if they differ or one has left; nothing is written then.
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

  /// What went over this rank's side of the world and succeeded.
  const Traffic& traffic() const { return traffic_; }

  /// The others are told; collectives fail from here on.
  virtual void leave() = 0;
  /// What is under way will not end, because others have gone: no more is waited for it.
  virtual void give_up() {}

 private:
  virtual void run_gathers(const std::vector<GatherTask>& tasks, const Place& place) = 0;
  virtual void run_reductions(const std::vector<ReduceTask>& tasks, Reduction reduction, const Place& place) = 0;

  Traffic traffic_;
};

}  // namespace dcmt::zero3
