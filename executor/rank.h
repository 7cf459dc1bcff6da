// All objects of one rank: its world, registry, buckets and executors. A thread belongs to one rank. An operator finds
// its rank by the graph, so it may run on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "executor/event_log.h"
#include "executor/executor.h"
#include "executor/reducer.h"
#include "executor/registry.h"
#include "executor/streams.h"
#include "executor/world.h"

namespace dcmt::zero3 {

struct RankOptions {
  ReducerOptions reducer;
  c10::Device device = at::kCPU;          ///< for gathered buffers, gradients and their partitions
  std::int64_t free_threshold_bytes = 0;  ///< free_tensors does not free smaller tensors
};

class Rank {
 public:
  Rank(std::shared_ptr<World> world, RankOptions options);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  World& world() { return *world_; }
  Streams& streams() { return streams_; }
  Registry& registry() { return registry_; }
  Reducer& reducer() { return reducer_; }
  EventLog& log() { return log_; }
  GatheredBytes& gathered() { return gathered_; }
  const RankOptions& options() const { return options_; }

  /// A graph's number is unique among the ranks of the process.
  void register_graph(std::int64_t graph, const std::vector<std::int64_t>& ids, const Place& place);
  Executor& executor(std::int64_t graph, const Place& place);

  bool profiling() const { return profiling_; }
  /// When profiling ends, only persistent parameters stay gathered.
  void set_profiling(bool on);
  /// Gathers the parameter now if a graph has it, so that the long-lived buffer is allocated outside of forward and
  /// backward.
  void set_persistent(std::int64_t id, const Place& place);

  void start_forward();
  void end_forward();
  /// `updates`: the optimizer steps after this backward.
  void start_backward(bool updates);
  void end_backward(Executor& executor, bool release_buckets, const Place& place);

  /// Drops the gathered buffers of a parameter that is not persistent.
  void invalidate(std::int64_t id, const Place& place);
  void clear_all();
  /// Drops all executors.
  void reset();

 private:
  const std::shared_ptr<World> world_;
  const RankOptions options_;
  Streams streams_;
  EventLog log_;
  GatheredBytes gathered_;
  Registry registry_;
  Reducer reducer_;
  std::map<std::int64_t, Executor> executors_;
  bool profiling_ = false;
  bool updates_ = false;
};

/// Makes the calling thread a rank of the world that `join` joins. Throws if the thread is a rank already.
void enter_rank(const std::function<std::shared_ptr<World>()>& join, RankOptions options, const Place& place);
/// Ends the calling thread's rank and frees its objects. Does nothing if the thread is no rank.
void leave_rank();
/// The calling thread's rank. Throws if the thread is no rank.
Rank& this_rank(const Place& place);
/// The rank that registered `graph`. Throws if none did.
Rank& rank_of_graph(std::int64_t graph, const Place& place);

}  // namespace dcmt::zero3
