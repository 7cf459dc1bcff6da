// The operators of the library `dcmt_z3` and its host functions, as they are registered in torch.
//
// Operators run below autograd: they return plain aliases. A view made in grad mode would keep its base alive.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <vector>

#include "executor/allocation_count.h"
#include "executor/nccl_world.h"
#include "executor/process_group_world.h"
#include "executor/rank.h"
#include "executor/simulated_world.h"
#include "executor/switches.h"

namespace dcmt::zero3 {
namespace {

/// Every operator begins with this: it finds the rank.
struct Entered {
  explicit Entered(Place where)
      : place(where), rank(where.graph ? rank_of_graph(*where.graph, where) : this_rank(where)) {
    rank.log().settle();
  }
  Executor& executor() const { return rank.executor(*place.graph, place); }

  const Place place;
  Rank& rank;
  const at::AutoDispatchBelowADInplaceOrView below_autograd{};
};

// --- the cycle of a parameter ---------------------------------------------------------------------------------------

at::Tensor allgather_param(const at::Tensor&, std::int64_t graph, std::int64_t id, Dtype dtype) {
  const Entered op({"allgather_param", graph, id});
  return op.executor().gather(id, dtype, op.place);
}

at::Tensor allgather_param_meta(const at::Tensor& shard, std::int64_t graph, std::int64_t id, Dtype dtype) {
  const Place place{"allgather_param", graph, id};
  const Parameter& parameter = rank_of_graph(graph, place).registry().at(id, place);
  return at::empty(parameter.shape, shard.options().dtype(dtype.value_or(parameter.dtype())));
}

at::Tensor wait_allgather(const at::Tensor& tensor, std::int64_t graph, std::int64_t id) {
  const Entered op({"wait_allgather", graph, id});
  op.executor().wait(id, op.place);
  return tensor;
}

at::Tensor wait_allgather_meta(const at::Tensor& tensor, std::int64_t, std::int64_t) { return tensor; }

at::Tensor release_param(const at::Tensor& tensor, std::int64_t graph, std::int64_t id, std::int64_t users) {
  const Entered op({"release_param", graph, id});
  op.executor().release(id, users, op.place);
  return tensor;
}

at::Tensor release_param_meta(const at::Tensor& tensor, std::int64_t, std::int64_t, std::int64_t) { return tensor; }

using Dtypes = std::optional<std::vector<at::ScalarType>>;

void prefetch_params_fused(std::int64_t graph, at::TensorList, at::IntArrayRef ids, Dtypes dtypes) {
  const Entered op({"prefetch_params_fused", graph});
  op.executor().prefetch(ids.vec(), dtypes.value_or(std::vector<at::ScalarType>{}), op.place);
}

void prefetch_params_fused_meta(std::int64_t, at::TensorList, at::IntArrayRef, Dtypes) {}

// --- gradients ------------------------------------------------------------------------------------------------------

at::Tensor reduce_grad(const at::Tensor& gradient, std::int64_t graph, std::int64_t id) {
  const Entered op({"reduce_grad", graph, id});
  if (!op.rank.profiling()) {
    op.executor();
    op.rank.reducer().add(gradient, op.rank.registry().at(id, op.place), op.place);
  }
  return at::empty({0}, gradient.options());
}

at::Tensor reduce_grad_meta(const at::Tensor& gradient, std::int64_t, std::int64_t) {
  return at::empty({0}, gradient.options());
}

void end_backward(at::TensorList, std::int64_t graph, bool release_buckets) {
  const Entered op({"end_backward", graph});
  op.rank.end_backward(op.executor(), release_buckets, op.place);
}

void end_backward_meta(at::TensorList, std::int64_t, bool) {}

// --- activations and shards -----------------------------------------------------------------------------------------

void free_tensors(at::TensorList tensors) {
  const Entered op({"free_tensors"});
  if (op.rank.profiling()) return;
  for (const at::Tensor& tensor : tensors) {
    const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
    if (bytes <= op.rank.options().free_threshold_bytes) continue;
    op.rank.streams().mark_used(tensor, Line::kCurrent);
    tensor.set_data(at::empty({0}, tensor.options()));
  }
}

void free_tensors_meta(at::TensorList) {}

at::Tensor offload_tensor(const at::Tensor& tensor, std::int64_t graph, std::int64_t id) {
  const Entered op({"offload_tensor", graph, id});
  return op.executor().offload(tensor, id, op.place);
}

at::Tensor wait_offload(const at::Tensor&, std::int64_t graph, std::int64_t id) {
  const Entered op({"wait_offload", graph, id});
  return op.executor().offloaded(id, op.place);
}

at::Tensor reload_tensor(const at::Tensor&, std::int64_t graph, std::int64_t id) {
  const Entered op({"reload_tensor", graph, id});
  return op.executor().reload(id, op.place);
}

at::Tensor wait_reload(const at::Tensor& tensor, std::int64_t graph, std::int64_t id) {
  const Entered op({"wait_reload", graph, id});
  at::Tensor reloaded = op.executor().reloaded(id);
  if (reloaded.defined()) return reloaded;
  if (!op.rank.profiling()) fail(op.place, "nothing was reloaded under this id");
  return tensor;
}

at::Tensor like_first(const at::Tensor& tensor, std::int64_t, std::int64_t) { return at::empty_like(tensor); }

void offload_parameter(const at::Tensor&, std::int64_t graph, std::int64_t id) {
  const Entered op({"offload_parameter", graph, id});
  op.rank.registry().at(id, op.place).offload(op.rank.streams());
}

void reload_parameter(const at::Tensor&, std::int64_t graph, std::int64_t id) {
  const Entered op({"reload_parameter", graph, id});
  op.rank.registry().at(id, op.place).reload(op.rank.streams());
}

void ordering_only(const at::Tensor&, std::int64_t, std::int64_t) {}

// --- host functions -------------------------------------------------------------------------------------------------

RankOptions rank_options(std::int64_t bucket_elements, bool double_buffered, bool pre_divides,
                         std::int64_t free_threshold_bytes, c10::Device device, const Place& place) {
  if (bucket_elements < 1) fail(place, "a bucket has at least one element");
  return {{bucket_elements, double_buffered, pre_divides}, device, free_threshold_bytes};
}

void init_simulated(std::int64_t world, std::int64_t rank, std::int64_t size, std::int64_t bucket_elements,
                    bool double_buffered, bool pre_divides, std::int64_t free_threshold_bytes, c10::Device device) {
  const Place place{"init_simulated"};
  enter_rank([&] { return join_simulated_world(world, static_cast<int>(rank), static_cast<int>(size), place); },
             rank_options(bucket_elements, double_buffered, pre_divides, free_threshold_bytes, device, place), place);
}

void init_group(const std::string& group, std::int64_t bucket_elements, bool double_buffered, bool pre_divides,
                std::int64_t free_threshold_bytes) {
  const Place place{"init_group"};
  enter_rank([&] { return process_group_world(group, place); },
             rank_options(bucket_elements, double_buffered, pre_divides, free_threshold_bytes, at::kCPU, place), place);
}

void init_nccl(const at::Tensor& unique_id, std::int64_t rank, std::int64_t size, c10::Device device,
               std::int64_t bucket_elements, bool double_buffered, bool pre_divides, std::int64_t free_threshold_bytes,
               const std::optional<std::string>& symmetric_group) {
  const Place place{"init_nccl"};
  const auto join = [&] {
    return join_nccl_world(unique_id, static_cast<int>(rank), static_cast<int>(size), device, symmetric_group, place);
  };
  enter_rank(join, rank_options(bucket_elements, double_buffered, pre_divides, free_threshold_bytes, device, place),
             place);
}

void register_param(std::int64_t id, at::IntArrayRef shape, const at::Tensor& shard,
                    const std::optional<at::Tensor>& gradient, bool persistent, Dtype gradient_dtype) {
  const Entered op({"register_param", std::nullopt, id});
  Parameter parameter;
  parameter.shape = shape.vec();
  parameter.home = shard.detach();
  if (gradient) parameter.gradient = gradient->detach();
  parameter.gradient_dtype = gradient_dtype;
  parameter.persistent = persistent;
  op.rank.registry().add(id, std::move(parameter), op.rank.world(), op.rank.streams(), op.place);
}

void register_graph_z3(std::int64_t graph, at::IntArrayRef ids) {
  const Place place{"register_graph_z3", graph};
  this_rank(place).register_graph(graph, ids.vec(), place);
}

void set_persistent(std::int64_t id) {
  const Entered op({"set_persistent", std::nullopt, id});
  op.rank.set_persistent(id, op.place);
}

void enable_profiling(bool on) { Entered({"enable_profiling"}).rank.set_profiling(on); }
bool is_profiling() { return Entered({"is_profiling"}).rank.profiling(); }
void start_forward() { Entered({"start_forward"}).rank.start_forward(); }
void end_forward() { Entered({"end_forward"}).rank.end_forward(); }
void start_backward(bool updates) { Entered({"start_backward"}).rank.start_backward(updates); }

void invalidate(std::int64_t id) {
  const Entered op({"invalidate", std::nullopt, id});
  op.rank.invalidate(id, op.place);
}

void clear_all() { Entered({"clear_all"}).rank.clear_all(); }
void reset() { Entered({"reset"}).rank.reset(); }
void cleanup() { leave_rank(); }

// --- queries of a program -------------------------------------------------------------------------------------------

std::int64_t rank() { return Entered({"rank"}).rank.world().rank(); }
std::int64_t world_size() { return Entered({"world_size"}).rank.world().size(); }

at::Tensor gather_across(const at::Tensor& tensor) {
  const Entered op({"gather_across"});
  Streams& streams = op.rank.streams();
  const at::Tensor mine = tensor.detach().contiguous();
  std::vector<std::int64_t> shape = mine.sizes().vec();
  shape.insert(shape.begin(), op.rank.world().size());
  const at::Tensor all = at::empty(shape, mine.options());
  streams.after(Line::kGather, Line::kCurrent);
  {
    const On on(streams, Line::kGather);
    op.rank.world().all_gather({{mine.view({-1}), all.view({-1})}}, op.place);
  }
  streams.after(Line::kCurrent, Line::kGather);
  return all;
}

/// Frees a parameter's bytes and keeps its shape, which tracers of the program need. Reading it raises an error.
void free_bytes(const at::Tensor& parameter, std::int64_t id) {
  const at::Tensor hollow = at::empty({0}, parameter.options());
  hollow.storage().unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(
      "dcmt_z3: parameter " + std::to_string(id) + " is in shards, and was not gathered here");
  hollow.unsafeGetTensorImpl()->set_sizes_and_strides(parameter.sizes(), parameter.strides());
  parameter.set_data(hollow);
}

/// Uses this thread's rank, or else the rank that has the graph.
std::vector<at::Tensor> gathered_buffers(std::int64_t id, std::optional<std::int64_t> graph) {
  const Entered op({"gathered_buffers", graph, id});
  std::vector<at::Tensor> buffers;
  for (const GatheredBuffer& one : op.rank.registry().at(id, op.place).gathered) buffers.push_back(one.flat);
  return buffers;
}

bool is_valid(std::int64_t id) {
  const Entered op({"is_valid", std::nullopt, id});
  return op.rank.registry().at(id, op.place).valid_buffer() != nullptr;
}

bool accumulates(std::int64_t id) {
  const Entered op({"accumulates", std::nullopt, id});
  return op.rank.registry().at(id, op.place).accumulates;
}

std::vector<std::int64_t> traffic() {
  const Traffic& seen = Entered({"traffic"}).rank.world().traffic();
  return {seen.groups, seen.gathers, seen.reductions};
}

std::vector<std::int64_t> bucket(at::ScalarType dtype) {
  const BucketFacts facts = Entered({"bucket"}).rank.reducer().facts(dtype);
  return {facts.elements, facts.used, facts.queued, facts.flushes, facts.held_bytes};
}

std::int64_t reloaded_count(std::int64_t graph) {
  const Entered op({"reloaded_count", graph});
  return static_cast<std::int64_t>(op.executor().reloaded_count());
}

std::vector<std::int64_t> drain_events() {
  std::vector<std::int64_t> numbers;
  for (const Event& event : Entered({"drain_events"}).rank.log().drain()) {
    numbers.insert(numbers.end(), {static_cast<std::int64_t>(event.kind), event.graph, event.id, event.value});
  }
  return numbers;
}

std::int64_t read_most_gathered() { return Entered({"read_most_gathered"}).rank.gathered().read_most(); }

std::vector<std::int64_t> read_allocated_bytes() {
  const Allocated seen = read_allocated();
  return {seen.now, seen.most};
}

void set_switch_by_name(const std::string& name, bool on) {
  if (!set_switch(name, on)) fail({"set_switch"}, "there is no switch \"" + name + "\"");
}

}  // namespace

TORCH_LIBRARY(dcmt_z3, m) {
  m.def("allgather_param(Tensor shard, int graph_id, int id, ScalarType? dtype=None) -> Tensor");
  m.def("wait_allgather(Tensor(a) t, int graph_id, int id) -> Tensor(a)");
  m.def("release_param(Tensor(a) t, int graph_id, int id, int n_users) -> Tensor(a)");
  // Wait and release once more, with wrong schemas: see the switch undeclared_alias.
  m.def("wait_allgather.undeclared(Tensor t, int graph_id, int id) -> Tensor");
  m.def("release_param.undeclared(Tensor t, int graph_id, int id, int n_users) -> Tensor");
  m.def("prefetch_params_fused(int graph_id, Tensor[] shards, int[] ids, ScalarType[]? dtypes=None) -> ()");
  m.def("reduce_grad(Tensor grad, int graph_id, int id) -> Tensor");
  m.def("end_backward(Tensor[] deps, int graph_id, bool release_buckets=False) -> ()");
  m.def("free_tensors(Tensor[] tensors) -> ()");
  m.def("offload_tensor(Tensor t, int graph_id, int id) -> Tensor");
  m.def("wait_offload(Tensor t, int graph_id, int id) -> Tensor");
  m.def("reload_tensor(Tensor t, int graph_id, int id) -> Tensor");
  m.def("wait_reload(Tensor t, int graph_id, int id) -> Tensor");
  m.def("offload_parameter(Tensor shard, int graph_id, int id) -> ()");
  m.def("reload_parameter(Tensor shard, int graph_id, int id) -> ()");

  m.def(
      "init_simulated(int world, int rank, int size, int bucket_elements, bool double_buffered=True,"
      " bool pre_divides=True, int free_threshold_bytes=0, Device device=\"cpu\") -> ()",
      init_simulated);
  m.def(
      "init_group(str group, int bucket_elements, bool double_buffered=True, bool pre_divides=True,"
      " int free_threshold_bytes=0) -> ()",
      init_group);
  m.def("nccl_unique_id() -> Tensor", [] { return nccl_unique_id({"nccl_unique_id"}); });
  m.def(
      "init_nccl(Tensor unique_id, int rank, int size, Device device, int bucket_elements, bool double_buffered=True,"
      " bool pre_divides=True, int free_threshold_bytes=0, str? symmetric_group=None) -> ()",
      init_nccl);
  m.def(
      "register_param(int id, int[] shape, Tensor shard, Tensor? grad_partition=None, bool persistent=False,"
      " ScalarType? grad_dtype=None) -> ()",
      register_param);
  m.def("register_graph_z3(int graph_id, int[] ids) -> ()", register_graph_z3);
  m.def("set_persistent(int id) -> ()", set_persistent);
  m.def("enable_profiling(bool on) -> ()", enable_profiling);
  m.def("is_profiling() -> bool", is_profiling);
  m.def("start_forward() -> ()", start_forward);
  m.def("end_forward() -> ()", end_forward);
  m.def("start_backward(bool updates) -> ()", start_backward);
  m.def("invalidate(int id) -> ()", invalidate);
  m.def("clear_all() -> ()", clear_all);
  m.def("reset() -> ()", reset);
  m.def("cleanup() -> ()", cleanup);

  m.def("rank() -> int", rank);
  m.def("world_size() -> int", world_size);
  m.def("gather_across(Tensor t) -> Tensor", gather_across);
  m.def("free_bytes(Tensor parameter, int id) -> ()", free_bytes);
  m.def("gathered_buffers(int id, int? graph=None) -> Tensor[]", gathered_buffers);
  m.def("is_valid(int id) -> bool", is_valid);
  m.def("accumulates(int id) -> bool", accumulates);
  m.def("traffic() -> int[]", traffic);
  m.def("bucket(ScalarType dtype) -> int[]", bucket);
  m.def("reloaded_count(int graph_id) -> int", reloaded_count);
  m.def("drain_events() -> int[]", drain_events);
  m.def("read_most_gathered() -> int", read_most_gathered);
  m.def("count_allocations(bool on) -> ()", count_allocations);
  m.def("read_allocated() -> int[]", read_allocated_bytes);
  m.def("set_switch(str name, bool on) -> ()", set_switch_by_name);
  m.def("switch_is_on(str name) -> bool", switch_is_on);
  m.def("switches_on() -> str[]", switches_on);
}

/// The implementation is the same on every device; only the streams differ.
void implement(torch::Library& m) {
  m.impl("allgather_param", allgather_param);
  m.impl("wait_allgather", wait_allgather);
  m.impl("release_param", release_param);
  m.impl("wait_allgather.undeclared", wait_allgather);
  m.impl("release_param.undeclared", release_param);
  m.impl("prefetch_params_fused", prefetch_params_fused);
  m.impl("reduce_grad", reduce_grad);
  m.impl("end_backward", end_backward);
  m.impl("free_tensors", free_tensors);
  m.impl("offload_tensor", offload_tensor);
  m.impl("wait_offload", wait_offload);
  m.impl("reload_tensor", reload_tensor);
  m.impl("wait_reload", wait_reload);
  m.impl("offload_parameter", offload_parameter);
  m.impl("reload_parameter", reload_parameter);
}

TORCH_LIBRARY_IMPL(dcmt_z3, CPU, m) { implement(m); }
TORCH_LIBRARY_IMPL(dcmt_z3, CUDA, m) { implement(m); }

// Nothing here is differentiable: programs compute the gradients themselves.
TORCH_LIBRARY_IMPL(dcmt_z3, Autograd, m) {
  for (const char* name :
       {"allgather_param", "wait_allgather", "wait_allgather.undeclared", "release_param", "release_param.undeclared",
        "prefetch_params_fused", "reduce_grad", "end_backward", "free_tensors", "offload_tensor", "wait_offload",
        "reload_tensor", "wait_reload", "offload_parameter", "reload_parameter"}) {
    m.impl(name, torch::CppFunction::makeFallthrough());
  }
}

// Calls without a tensor argument have no backend, so they are dispatched to Undefined.
TORCH_LIBRARY_IMPL(dcmt_z3, Undefined, m) {
  m.impl("prefetch_params_fused", prefetch_params_fused);
  m.impl("end_backward", end_backward);
  m.impl("free_tensors", free_tensors);
}

TORCH_LIBRARY_IMPL(dcmt_z3, Meta, m) {
  m.impl("allgather_param", allgather_param_meta);
  m.impl("wait_allgather", wait_allgather_meta);
  m.impl("release_param", release_param_meta);
  m.impl("wait_allgather.undeclared", wait_allgather_meta);
  m.impl("release_param.undeclared", release_param_meta);
  m.impl("prefetch_params_fused", prefetch_params_fused_meta);
  m.impl("reduce_grad", reduce_grad_meta);
  m.impl("end_backward", end_backward_meta);
  m.impl("free_tensors", free_tensors_meta);
  m.impl("offload_tensor", like_first);
  m.impl("wait_offload", like_first);
  m.impl("reload_tensor", like_first);
  m.impl("wait_reload", like_first);
  m.impl("offload_parameter", ordering_only);
  m.impl("reload_parameter", ordering_only);
}

}  // namespace dcmt::zero3
