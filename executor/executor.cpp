#include "executor/executor.h"

#include <ATen/native/Resize.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <utility>

#include "executor/switches.h"

namespace at::native {

/// A function of libtorch_cuda; a torch for the CPU does not have it.
[[gnu::weak, gnu::visibility("default")]] void resize_bytes_cuda(c10::StorageImpl* storage, std::size_t bytes);

}  // namespace at::native

namespace dcmt::zero3 {

Parameter& Executor::parameter(std::int64_t id, const Place& place) {
  if (!ids_.contains(id)) fail(place, "the graph was registered without this parameter");
  return registry_.at(id, place);
}

/// One group of all-gathers, each into the registered buffer of its dtype, or into a new one. They run after all
/// earlier work of the current stream: that work writes shards, and it reads registered buffers and freed ones.
void Executor::launch(const std::vector<std::pair<Parameter*, at::ScalarType>>& wanted, const Place& place) {
  if (wanted.empty()) return;
  streams_.after(Line::kGather, Line::kCurrent);
  const On on(streams_, Line::kGather);
  std::vector<GatherTask> tasks;
  for (const auto& [parameter, dtype] : wanted) {
    const GatheredBuffer* known = parameter->buffer(dtype);
    if (parameter->shard().device() != streams_.device()) fail(place, "a shard is offloaded: reload it first");
    streams_.wait(Line::kGather, parameter->reload_done);
    const at::Tensor shard = parameter->shard().to(dtype);
    tasks.push_back({shard, known != nullptr ? known->flat : at::empty({parameter->padded_elements}, shard.options())});
  }
  world_.all_gather(tasks, place);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Parameter& parameter = *wanted[i].first;
    set_buffer(parameter, tasks[i].into);
    streams_.set(parameter.gather_done, Line::kGather);
  }
}

/// Runs on the gather stream: the source may not be there yet.
at::Tensor Executor::converted(Parameter& parameter, const at::Tensor& flat, at::ScalarType dtype) {
  streams_.after(Line::kGather, Line::kCurrent);
  const On on(streams_, Line::kGather);
  const at::Tensor copy = flat.to(dtype);
  streams_.set(parameter.gather_done, Line::kGather);
  return copy;
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
    other == nullptr ? launch({{&one, type}}, place) : set_buffer(one, converted(one, other->flat, type));
    known = one.buffer(type);
  }
  return known->flat.as_strided(one.shape, c10::contiguous_strides(one.shape));
}

at::Tensor Executor::cached_cast(std::int64_t id, Parameter& parameter, at::ScalarType dtype, const Place& place) {
  const at::Tensor full = gather(id, parameter.dtype(), place);
  at::Tensor& cast = casts_[id];
  if (!cast.defined() || cast.scalar_type() != dtype) {
    gathered_.add(cast = converted(parameter, full, dtype));
  }
  return cast.alias();
}

void Executor::wait(std::int64_t id, const Place& place) {
  Parameter& one = parameter(id, place);
  if (one.valid_buffer() == nullptr) fail(place, "it is not gathered, there is nothing to wait for");
  streams_.wait(Line::kCurrent, one.gather_done);
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
  // Later writes to these buffers, or to their memory, run on the gather stream, so it waits for the current stream.
  streams_.after(Line::kGather, Line::kCurrent);
  if (--uses.left > 0) return;
  // A persistent parameter keeps the buffer of its own dtype; copies in other dtypes are freed.
  std::erase_if(one.gathered, [&](const GatheredBuffer& buffer) {
    if (one.persistent && buffer.flat.scalar_type() == one.dtype()) return false;
    give_back(id, buffer.flat, place);
    return true;
  });
  if (const auto cast = casts_.find(id); cast != casts_.end()) log_.watch(graph_, id, cast->second.storage());
}

void Executor::give_back(std::int64_t id, const at::Tensor& registered, const Place& place) {
  const c10::Storage storage = registered.storage();
  if (switches().release_clears_tensor_only) {
    log_.watch(graph_, id, storage);
    registered.set_data(at::empty({0}, registered.options()));
    return;
  }
  if (streams_.on_gpu()) {
    at::native::resize_bytes_cuda(storage.unsafeGetStorageImpl(), 0);
  } else {
    at::native::resize_bytes_nocuda(storage, 0);
  }
  // A later read raises an error instead of using a null pointer. The next gather uses another storage.
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "dcmt_z3: parameter " + std::to_string(id) + " of graph " + std::to_string(graph_) +
      " was given back by its final " + place.op);
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
  Activation& one = activations_[id];
  if (!one.host.defined()) {
    one.host = at::empty_like(tensor, tensor.options().device(at::kCPU).pinned_memory(streams_.on_gpu()));
  }
  if (one.host.sizes() != tensor.sizes() || one.host.scalar_type() != tensor.scalar_type()) {
    fail(place, "offloaded with another shape or dtype than the first time");
  }
  one.from = tensor.device();
  streams_.after(Line::kOffload, Line::kCurrent);
  streams_.wait(Line::kOffload, one.reload_done);
  const On on(streams_, Line::kOffload);
  one.host.copy_(tensor, /*non_blocking=*/true);
  streams_.mark_used(tensor, Line::kOffload);  // the program may drop the tensor at once
  streams_.set(one.offload_done, Line::kOffload);
  return one.host;
}

Executor::Activation& Executor::offloaded_activation(std::int64_t id, const Place& place) {
  const auto found = activations_.find(id);
  if (found == activations_.end() || !found->second.host.defined()) fail(place, "nothing was offloaded under this id");
  return found->second;
}

at::Tensor Executor::offloaded(std::int64_t id, const Place& place) {
  const Activation& one = offloaded_activation(id, place);
  streams_.wait(Line::kCurrent, one.offload_done);
  return one.host;
}

at::Tensor Executor::reload(std::int64_t id, const Place& place) {
  Activation& one = offloaded_activation(id, place);
  streams_.wait(Line::kReload, one.offload_done);
  const On on(streams_, Line::kReload);
  const auto there = one.host.options().device(one.from).pinned_memory(false);
  one.reloaded = one.host.to(there, /*non_blocking=*/true, /*copy=*/true);
  streams_.set(one.reload_done, Line::kReload);
  return one.reloaded;
}

at::Tensor Executor::reloaded(std::int64_t id) {
  const auto found = activations_.find(id);
  if (found == activations_.end() || !found->second.reloaded.defined()) return {};
  Activation& one = found->second;
  streams_.wait(Line::kCurrent, one.reload_done);
  // The program may drop the tensor at any time. If its reads were waited for, prefetched reloads would have to wait,
  // too.
  streams_.mark_used(one.reloaded, Line::kCurrent);
  return switches().reload_map_held_to_end_of_backward ? one.reloaded : std::exchange(one.reloaded, {});
}

void Executor::drop_reloaded() {
  for (auto& [id, one] : activations_) one.reloaded.reset();
}

std::size_t Executor::reloaded_count() const {
  return static_cast<std::size_t>(std::count_if(activations_.begin(), activations_.end(),
                                                [](const auto& one) { return one.second.reloaded.defined(); }));
}

}  // namespace dcmt::zero3
