// One graph's part of the cycle: gathers, releases with their counts, offloaded activations. Forward and backward of a
// graph use the same executor. On the CPU, work is done when a call returns; on a GPU, the call has put it into a
// stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "executor/errors.h"
#include "executor/event_log.h"
#include "executor/gathered_bytes.h"
#include "executor/registry.h"
#include "executor/streams.h"
#include "executor/world.h"

namespace dcmt::zero3 {

using Dtype = std::optional<at::ScalarType>;  ///< not set: the parameter's own dtype

class Executor {
 public:
  Executor(std::int64_t graph, std::set<std::int64_t> ids, World& world, Registry& registry, Streams& streams,
           GatheredBytes& gathered, EventLog& log)
      : graph_(graph),
        ids_(std::move(ids)),
        world_(world),
        registry_(registry),
        streams_(streams),
        gathered_(gathered),
        log_(log) {}

  const std::set<std::int64_t>& ids() const { return ids_; }

  /// Gathers the full parameter. Returns an alias of the registered buffer.
  at::Tensor gather(std::int64_t id, Dtype dtype, const Place& place);
  /// The current stream waits for the gather. Throws if the parameter is not gathered.
  void wait(std::int64_t id, const Place& place);
  /// One use of `users` ends after the current stream's work so far. After the last use, the bytes are freed unless the
  /// parameter is persistent.
  void release(std::int64_t id, std::int64_t users, const Place& place);
  /// Gathers all parameters that are not valid yet, in one group. `dtypes` is empty or has one element for each id.
  void prefetch(const std::vector<std::int64_t>& ids, const std::vector<at::ScalarType>& dtypes, const Place& place);

  /// A pass begins or is given up: reports uses that were never released, and forgets them.
  void forget_uses();
  void forget_uses(std::int64_t id);
  /// The weights will change: gathered buffers become stale.
  void invalidate();

  /// For the defect that caches converted weights: its cache ends with a pass.
  void drop_casts() { casts_.clear(); }

  /// Offload and reload of activations. The caller chooses the ids; they are independent of parameters. The host buffer
  /// is kept for the next use of the id. It is pinned if the rank is on a GPU.
  at::Tensor offload(const at::Tensor& tensor, std::int64_t id, const Place& place);
  /// Returns the host buffer; the current stream waits until it is filled.
  at::Tensor offloaded(std::int64_t id, const Place& place);
  at::Tensor reload(std::int64_t id, const Place& place);
  /// The current stream waits for the reload. Returns an undefined tensor if nothing was reloaded.
  at::Tensor reloaded(std::int64_t id);
  void drop_reloaded();
  std::size_t reloaded_count() const;

 private:
  struct Uses {
    std::int64_t declared = 0;
    std::int64_t left = 0;
  };
  struct Activation {
    at::Tensor host;
    c10::Device from = at::kCPU;
    Point offload_done;
    Point reload_done;
    at::Tensor reloaded;
  };

  Parameter& parameter(std::int64_t id, const Place& place);
  void launch(const std::vector<std::pair<Parameter*, at::ScalarType>>& wanted, const Place& place);
  at::Tensor converted(Parameter& parameter, const at::Tensor& flat, at::ScalarType dtype);
  void set_buffer(Parameter& parameter, const at::Tensor& flat);
  void give_back(std::int64_t id, const at::Tensor& registered, const Place& place);
  at::Tensor cached_cast(std::int64_t id, Parameter& parameter, at::ScalarType dtype, const Place& place);
  Activation& offloaded_activation(std::int64_t id, const Place& place);

  const std::int64_t graph_;
  const std::set<std::int64_t> ids_;
  World& world_;
  Registry& registry_;
  Streams& streams_;
  GatheredBytes& gathered_;
  EventLog& log_;
  std::map<std::int64_t, Uses> uses_;
  std::map<std::int64_t, at::Tensor> casts_;
  std::map<std::int64_t, Activation> activations_;
};

}  // namespace dcmt::zero3
