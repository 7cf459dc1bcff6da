#include "executor/executor.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>

#include "executor/switches.h"

namespace dcmt::zero3 {

Parameter& Executor::parameter(std::int64_t id, const Place& place) {
  if (!ids_.contains(id)) fail(place, "the graph was registered without this parameter");
  return registry_.at(id, place);
}

/// One group of all-gathers, each into the registered buffer of its dtype, or into a new one.
void Executor::launch(const std::vector<std::pair<Parameter*, at::ScalarType>>& wanted, const Place& place) {
  std::vector<GatherTask> tasks;
  for (const auto& [parameter, dtype] : wanted) {
    const GatheredBuffer* known = parameter->buffer(dtype);
    const at::Tensor shard = parameter->shard().to(dtype);
    tasks.push_back({shard, known != nullptr ? known->flat : at::empty({parameter->padded_elements}, shard.options())});
  }
  world_.all_gather(tasks, place);
  for (std::size_t i = 0; i < wanted.size(); ++i) set_buffer(*wanted[i].first, tasks[i].into);
}

void Executor::set_buffer(Parameter& parameter, const at::Tensor& flat) {
  const GatheredBuffer* known = parameter.buffer(flat.scalar_type());
  const bool refilled = known != nullptr && known->flat.is_same(flat);
  parameter.set_buffer(flat);
  if (!refilled) gathered_.add(flat);
}

at::Tensor Executor::gather(std::int64_t id, Dtype dtype, const Place& place) {
  Parameter& one = parameter(id, place);
  const at::ScalarType type = dtype.value_or(one.dtype());
  if (type != one.dtype() && switches().cast_cache_keeps_gathered) return cached_cast(id, one, type, place);
  const GatheredBuffer* known = one.buffer(type);
  if (known == nullptr || !known->valid) {
    const GatheredBuffer* other = one.valid_buffer();
    other == nullptr ? launch({{&one, type}}, place) : set_buffer(one, other->flat.to(type));
    known = one.buffer(type);
  }
  return known->flat.narrow(0, 0, one.elements).view(one.shape);
}

at::Tensor Executor::cached_cast(std::int64_t id, const Parameter& parameter, at::ScalarType dtype,
                                 const Place& place) {
  const at::Tensor full = gather(id, parameter.dtype(), place);
  at::Tensor& cast = casts_[id];
  if (!cast.defined() || cast.scalar_type() != dtype) gathered_.add(cast = full.to(dtype));
  return cast.alias();
}

void Executor::wait(std::int64_t id, const Place& place) {
  if (parameter(id, place).valid_buffer() == nullptr) fail(place, "it is not gathered, there is nothing to wait for");
}

void Executor::release(std::int64_t id, std::int64_t users, const Place& place) {
  Parameter& one = parameter(id, place);
  if (users < 1) fail(place, "released with " + std::to_string(users) + " uses");
  if (one.gathered.empty()) fail(place, "released, but it is not gathered");
  Uses& uses = uses_[id];
  if (uses.left == 0) {
    uses = {users, users};
  } else if (users != uses.declared) {
    log_.add({EventKind::kMismatch, graph_, id, users});
  }
  if (--uses.left > 0) return;
  // A persistent parameter keeps its own buffer; copies in other dtypes are given back all the same.
  std::erase_if(one.gathered, [&](const GatheredBuffer& buffer) {
    if (one.persistent && buffer.flat.scalar_type() == one.dtype()) return false;
    give_back(id, buffer.flat, place);
    return true;
  });
  if (const auto cast = casts_.find(id); cast != casts_.end()) log_.watch(graph_, id, cast->second.storage());
}

void Executor::give_back(std::int64_t id, const at::Tensor& registered, const Place& place) {
  const c10::Storage storage = registered.storage();
  const at::Tensor empty = at::empty({0}, registered.options());
  if (switches().release_clears_tensor_only) {
    log_.watch(graph_, id, storage);
  } else {
    at::native::resize_bytes_nocuda(storage, 0);
    // Who reads it all the same gets an error instead of a null pointer. The next gather takes another storage.
    storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
        "dcmt_z3: parameter " + std::to_string(id) + " of graph " + std::to_string(graph_) +
        " was given back by its final " + place.op);
  }
  registered.set_data(empty);
}

void Executor::prefetch(const std::vector<std::int64_t>& ids, const std::vector<at::ScalarType>& dtypes,
                        const Place& place) {
  if (!dtypes.empty() && dtypes.size() != ids.size()) fail(place, "as many dtypes as parameters are needed, or none");
  std::vector<std::pair<Parameter*, at::ScalarType>> wanted;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    Parameter& one = parameter(ids[i], {place.op, place.graph, ids[i]});
    if (one.valid_buffer() != nullptr) continue;
    const auto listed = [&](const auto& other) { return other.first == &one; };
    if (std::any_of(wanted.begin(), wanted.end(), listed)) continue;
    wanted.emplace_back(&one, dtypes.empty() ? one.dtype() : dtypes[i]);
  }
  launch(wanted, place);
}

void Executor::forget_uses(std::int64_t id) {
  const auto uses = uses_.find(id);
  if (uses == uses_.end()) return;
  if (uses->second.left > 0) log_.add({EventKind::kLost, graph_, id, uses->second.left});
  uses_.erase(uses);
}

void Executor::forget_uses() {
  for (const std::int64_t id : ids_) forget_uses(id);
}

void Executor::invalidate() {
  for (auto& [id, parameter] : registry_.all()) {
    if (ids_.contains(id)) parameter.invalidate();
  }
}

at::Tensor Executor::offload(const at::Tensor& tensor, std::int64_t id, const Place& place) {
  at::Tensor& host = host_[id];
  if (!host.defined()) host = at::empty_like(tensor);
  if (host.sizes() != tensor.sizes() || host.scalar_type() != tensor.scalar_type()) {
    fail(place, "offloaded with another shape or dtype than the first time");
  }
  host.copy_(tensor);
  return host;
}

at::Tensor Executor::offloaded(std::int64_t id, const Place& place) const {
  const auto found = host_.find(id);
  if (found == host_.end()) fail(place, "nothing was offloaded under this id");
  return found->second;
}

at::Tensor Executor::reload(std::int64_t id, const Place& place) {
  return reloaded_[id] = offloaded(id, place).clone();
}

at::Tensor Executor::reloaded(std::int64_t id) {
  const auto found = reloaded_.find(id);
  if (found == reloaded_.end()) return {};
  at::Tensor tensor = found->second;
  if (!switches().reload_map_held_to_end_of_backward) reloaded_.erase(found);
  return tensor;
}

}  // namespace dcmt::zero3
