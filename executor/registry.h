// The parameters of a rank: shard, gradient partition, and gathered buffers. All graphs share them.
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

/// A flat buffer for the shards of all ranks with their padding. Valid: a gather of the current weights was launched.
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
  at::Tensor reloaded;                           ///< copy of an offloaded shard on the device; else undefined
  at::Tensor gradient;                           ///< this rank's partition of the gradient; undefined: frozen
  std::optional<at::ScalarType> gradient_dtype;  ///< dtype in which gradients are reduced; not set: their own
  bool accumulates = false;                      ///< the partition has a gradient, and the next one is added
  bool persistent = false;                       ///< releases are only counted

  std::vector<GatheredBuffer> gathered;  ///< one for each dtype; empty: not registered

  Point gather_done;   ///< end of the last launched gather
  Point reload_done;   ///< end of the shard's reload
  Point offload_done;  ///< end of the shard's offload

  at::ScalarType dtype() const { return home.scalar_type(); }
  const at::Tensor& shard() const { return reloaded.defined() ? reloaded : home; }

  /// Reloads or offloads the shard. Each does nothing if the shard is there already.
  void reload(Streams& streams);
  void offload(Streams& streams);

  /// The buffer of this dtype; nullptr if there is none.
  GatheredBuffer* buffer(at::ScalarType dtype);
  /// Any valid buffer, or nullptr.
  GatheredBuffer* valid_buffer();
  /// Adds a buffer; replaces the one of the same dtype.
  void set_buffer(const at::Tensor& flat);
  void invalidate();
};

class Registry {
 public:
  /// Registers a parameter. Every rank must call it, with the same shape: lengths and dtypes of all shards are
  /// compared. If the id is registered already, its parameter is replaced. The gradient partition is set to zero.
  void add(std::int64_t id, Parameter parameter, World& world, Streams& streams, const Place& place);

  /// Throws if the id is not registered.
  Parameter& at(std::int64_t id, const Place& place);
  std::map<std::int64_t, Parameter>& all() { return parameters_; }

 private:
  std::map<std::int64_t, Parameter> parameters_;
};

}  // namespace dcmt::zero3
