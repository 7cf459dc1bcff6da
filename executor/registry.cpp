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

/// What each rank says of a parameter: elements of the shape, of its shard, of its partition (-1: none).
constexpr std::int64_t kFacts = 3;

std::string problem(const std::int64_t* facts, const std::int64_t* mine, const Parameter& parameter, int rank) {
  const std::string who = "rank " + std::to_string(rank);
  if (facts[0] != mine[0]) {
    return who + " has a shape of " + std::to_string(facts[0]) + " elements, this one of " + std::to_string(mine[0]);
  }
  const std::string needed = std::to_string(parameter.shard_elements) + " are the share of " +
                             std::to_string(parameter.elements) + " elements";
  if (facts[1] != parameter.shard_elements) {
    return who + " has a shard of " + std::to_string(facts[1]) + " elements; " + needed;
  }
  if (facts[2] >= 0 && facts[2] != parameter.shard_elements) {
    return who + " has a gradient partition of " + std::to_string(facts[2]) + " elements; " + needed;
  }
  return {};
}

void compare_ranks(const Parameter& parameter, World& world, const Place& place) {
  const auto options = at::TensorOptions().dtype(at::kLong);
  at::Tensor mine = at::empty({kFacts}, options);
  auto* facts = mine.mutable_data_ptr<std::int64_t>();
  facts[0] = parameter.elements;
  facts[1] = parameter.home.numel();
  facts[2] = parameter.gradient.defined() ? parameter.gradient.numel() : -1;
  at::Tensor all = at::empty({world.size() * kFacts}, options);
  world.all_gather({{mine, all}}, place);
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::string found = problem(all.const_data_ptr<std::int64_t>() + rank * kFacts, facts, parameter, rank);
    if (!found.empty()) fail(place, found);
  }
}

}  // namespace

void Parameter::reload() {
  if (!reloaded.defined() && home.device().is_cpu()) reloaded = home.clone();
}

void Parameter::offload() {
  if (!reloaded.defined()) return;
  home.copy_(reloaded);
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

void Registry::add(std::int64_t id, Parameter parameter, World& world, const Place& place) {
  check_dtype(parameter.home.scalar_type(), "a shard", place);
  if (parameter.gradient_dtype) check_dtype(*parameter.gradient_dtype, "gradients", place);
  // A copy made for the collective would have to outlive it.
  if (!parameter.home.is_contiguous()) fail(place, "the shard is not contiguous");
  if (parameter.gradient.defined()) {
    check_dtype(parameter.gradient.scalar_type(), "a gradient partition", place);
    if (!parameter.gradient.is_contiguous()) fail(place, "the gradient partition is not contiguous");
  }
  parameter.elements = 1;
  for (const std::int64_t size : parameter.shape) parameter.elements *= size;
  parameter.shard_elements = (parameter.elements + world.size() - 1) / world.size();
  parameter.padded_elements = parameter.shard_elements * world.size();
  compare_ranks(parameter, world, place);

  if (parameter.gradient.defined()) parameter.gradient.zero_();
  parameters_.insert_or_assign(id, std::move(parameter));
}

Parameter& Registry::at(std::int64_t id, const Place& place) {
  const auto found = parameters_.find(id);
  if (found == parameters_.end()) fail(place, "no parameter " + std::to_string(id) + " is registered");
  return found->second;
}

}  // namespace dcmt::zero3
