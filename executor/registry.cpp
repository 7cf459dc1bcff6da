#include "executor/registry.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dcmt::zero3 {
namespace {

constexpr std::array kDtypes = {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kChar, at::kInt, at::kLong};

void check_dtype(at::ScalarType dtype, const char* what, const Place& place) {
  if (std::find(kDtypes.begin(), kDtypes.end(), dtype) == kDtypes.end()) {
    fail(place, std::string(what) + " of " + c10::toString(dtype) +
                    ", which collectives do not take: use f16, bf16, f32, f64, i8, i32 or i64");
  }
}

/// The facts of a parameter that ranks compare.
enum Fact : std::int64_t { kElements, kShardElements, kPartitionElements, kShardDtype, kPartitionDtype, kFacts };
constexpr std::int64_t kNone = -1;

std::string problem(const std::int64_t* facts, const std::int64_t* mine, const Parameter& parameter, int rank) {
  const std::string who = "rank " + std::to_string(rank);
  if (facts[kElements] != mine[kElements]) {
    return who + " has a shape of " + std::to_string(facts[kElements]) + " elements, this one of " +
           std::to_string(mine[kElements]);
  }
  const std::string needed = std::to_string(parameter.shard_elements) + " are the share of " +
                             std::to_string(parameter.elements) + " elements";
  if (facts[kShardElements] != parameter.shard_elements) {
    return who + " has a shard of " + std::to_string(facts[kShardElements]) + " elements; " + needed;
  }
  if (facts[kPartitionElements] != kNone && facts[kPartitionElements] != parameter.shard_elements) {
    return who + " has a gradient partition of " + std::to_string(facts[kPartitionElements]) + " elements; " + needed;
  }
  if (facts[kShardDtype] != mine[kShardDtype]) return who + " has a shard of another dtype than this one";
  if (facts[kPartitionDtype] != mine[kPartitionDtype]) return who + " has gradients of another dtype than this one";
  return {};
}

void compare_ranks(const Parameter& parameter, World& world, const Place& place) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  const at::Tensor mine = at::empty({kFacts}, options);
  auto* facts = mine.mutable_data_ptr<std::int64_t>();
  const at::Tensor& gradient = parameter.gradient;
  facts[kElements] = parameter.elements;
  facts[kShardElements] = parameter.home.numel();
  facts[kPartitionElements] = gradient.defined() ? gradient.numel() : kNone;
  facts[kShardDtype] = static_cast<std::int64_t>(parameter.dtype());
  facts[kPartitionDtype] =
      gradient.defined() ? static_cast<std::int64_t>(parameter.gradient_dtype.value_or(gradient.scalar_type())) : kNone;
  const at::Tensor into = at::empty({world.size() * kFacts}, options.device(world.device()));
  world.all_gather({{mine.to(world.device()), into}}, place);
  const at::Tensor all = into.cpu();
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string found = problem(all.const_data_ptr<std::int64_t>() + rank * kFacts, facts, parameter, rank);
    if (!found.empty()) fail(place, found);
  }
}

}  // namespace

void Parameter::reload(Streams& streams) {
  if (reloaded.defined() || !home.device().is_cpu()) return;
  streams.after(Line::kReload, Line::kCurrent);
  streams.wait(Line::kReload, offload_done);
  const On on(streams, Line::kReload);
  reloaded = home.to(home.options().device(streams.device()), /*non_blocking=*/true, /*copy=*/true);
  streams.set(reload_done, Line::kReload);
}

void Parameter::offload(Streams& streams) {
  if (!reloaded.defined()) return;
  streams.after(Line::kOffload, Line::kCurrent);
  streams.wait(Line::kOffload, reload_done);
  {
    const On on(streams, Line::kOffload);
    home.copy_(reloaded, /*non_blocking=*/true);
    streams.set(offload_done, Line::kOffload);
  }
  // The reloaded copy returns to the pool of the reload stream. The next copy in its memory is written after the reads
  // of this one.
  streams.wait(Line::kReload, offload_done);
  streams.wait(Line::kReload, gather_done);
  reloaded.reset();
}

GatheredBuffer* Parameter::buffer(at::ScalarType dtype) {
  const auto found = std::find_if(gathered.begin(), gathered.end(),
                                  [&](const GatheredBuffer& one) { return one.flat.scalar_type() == dtype; });
  return found == gathered.end() ? nullptr : &*found;
}

GatheredBuffer* Parameter::valid_buffer() {
  const auto found =
      std::find_if(gathered.begin(), gathered.end(), [](const GatheredBuffer& one) { return one.valid; });
  return found == gathered.end() ? nullptr : &*found;
}

void Parameter::set_buffer(const at::Tensor& flat) {
  GatheredBuffer* known = buffer(flat.scalar_type());
  if (known == nullptr) known = &gathered.emplace_back();
  *known = {flat, true};
}

void Parameter::invalidate() {
  for (GatheredBuffer& one : gathered) one.valid = false;
}

void Registry::add(std::int64_t id, Parameter parameter, World& world, Streams& streams, const Place& place) {
  check_dtype(parameter.home.scalar_type(), "a shard", place);
  if (parameter.gradient_dtype) check_dtype(*parameter.gradient_dtype, "gradients", place);
  // A contiguous copy for the collective would have to stay alive until it is done.
  if (!parameter.home.is_contiguous()) fail(place, "the shard is not contiguous");
  if (parameter.gradient.defined()) {
    check_dtype(parameter.gradient.scalar_type(), "a gradient partition", place);
    if (!parameter.gradient.is_contiguous()) fail(place, "the gradient partition is not contiguous");
    if (parameter.gradient.device() != streams.device()) {
      fail(place, "the gradient partition is on " + parameter.gradient.device().str() + ", the rank on " +
                      streams.device().str());
    }
  }
  if (!parameter.home.is_cpu() && parameter.home.device() != streams.device()) {
    fail(place, "the shard is on " + parameter.home.device().str() + ", the rank on " + streams.device().str());
  }
  parameter.elements = 1;
  for (const std::int64_t size : parameter.shape) parameter.elements *= size;
  parameter.shard_elements = (parameter.elements + world.size() - 1) / world.size();
  parameter.padded_elements = parameter.shard_elements * world.size();
  compare_ranks(parameter, world, place);

  if (parameter.gradient.defined()) parameter.gradient.zero_();
  streams.after(Line::kGather, Line::kCurrent);  // earlier work may still read a buffer of the replaced parameter
  parameters_.insert_or_assign(id, std::move(parameter));
}

Parameter& Registry::at(std::int64_t id, const Place& place) {
  const auto found = parameters_.find(id);
  if (found == parameters_.end()) fail(place, "no parameter " + std::to_string(id) + " is registered");
  return found->second;
}

}  // namespace dcmt::zero3
