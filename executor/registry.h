// The parameters of a rank: shard, gradient partition, and the buffers that its gathers fill. Shared by all graphs.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "executor/errors.h"
#include "executor/streams.h"
#include "executor/world.h"

namespace dcmt::zero3 {

/// Flat, all ranks' shards with their padding. Valid: a gather of the current weights has been launched into it.
struct GatheredBuffer {
  at::Tensor flat;
  bool valid = false;
};

struct Parameter {
  std::vector<std::int64_t> shape;
  std::int64_t elements = 0;         ///< N
  std::int64_t shard_elements = 0;   ///< p = ceil(N/W)
  std::int64_t padded_elements = 0;  ///< P = W·p

  at::Tensor home;                               ///< this rank's shard
  at::Tensor reloaded;                           ///< a copy of it on the device, while it is offloaded; else undefined
  at::Tensor gradient;                           ///< this rank's partition of the gradient; undefined: frozen
  std::optional<at::ScalarType> gradient_dtype;  ///< gradients are reduced in it; none: as they come
  bool accumulates = false;                      ///< the partition holds a gradient: the next one is added
  bool persistent = false;                       ///< releases only count

  std::vector<GatheredBuffer> gathered;  ///< one a dtype; empty: not registered

  Point gather_done;   ///< the last launched
  Point reload_done;   ///< of the shard
  Point offload_done;  ///< of the shard

  at::ScalarType dtype() const { return home.scalar_type(); }
  const at::Tensor& shard() const { return reloaded.defined() ? reloaded : home; }

  /// Offload and reload of the shard. Both do nothing where there is nothing to do.
  void reload(Streams& streams);
  void offload(Streams& streams);

  /// nullptr if there is none of that dtype.
  GatheredBuffer* buffer(at::ScalarType dtype);
  /// Any that is valid, or nullptr.
  GatheredBuffer* valid_buffer();
  /// Replaces the one of the same dtype, if there is one.
  void set_buffer(const at::Tensor& flat);
  void invalidate();
};

class Registry {
 public:
  /// Every rank calls it, with the same shape: the lengths and dtypes of all shards are compared. An id that is known
  /// is replaced, with all that was registered for it. The gradient partition is set to zero.
  void add(std::int64_t id, Parameter parameter, World& world, Streams& streams, const Place& place);

  /// Throws for an id that is not registered.
  Parameter& at(std::int64_t id, const Place& place);
  std::map<std::int64_t, Parameter>& all() { return parameters_; }

 private:
  std::map<std::int64_t, Parameter> parameters_;
};

}  // namespace dcmt::zero3
