#include "executor/reducer.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "executor/switches.h"

namespace dcmt::zero3 {

void Reducer::add(const at::Tensor& gradient, Parameter& parameter, const Place& place) {
  if (!parameter.gradient.defined()) fail(place, "it has no gradient partition: it is frozen");
  if (gradient.numel() != parameter.elements) {
    fail(place, "its gradient has " + std::to_string(gradient.numel()) + " elements, the parameter " +
                    std::to_string(parameter.elements));
  }
  const at::Tensor source =
      gradient.to(parameter.gradient_dtype.value_or(gradient.scalar_type())).contiguous().view({-1});
  Lane& lane = lanes_[source.scalar_type()];
  // A group must not have two gradients of one parameter: each would be treated as the first one.
  if (lane.queued.contains(&parameter)) flush(lane, place);
  at::Tensor slice = slice_for(lane, parameter, source, place);
  fill(slice, source);
  lane.queue.push_back({&parameter, source, streams_.get(Line::kCurrent), std::move(slice)});
  lane.queued.insert(&parameter);
}

/// Sets the elements after the gradient to zero, unless the next slice begins there.
void Reducer::fill(const at::Tensor& slice, const at::Tensor& source) const {
  streams_.after(Line::kCopy, Line::kCurrent);
  const On on(streams_, Line::kCopy);
  const std::int64_t padding = slice.numel() - source.numel();
  if (padding == 0) {
    slice.copy_(source, /*non_blocking=*/true);
    return;
  }
  slice.narrow(0, 0, source.numel()).copy_(source, /*non_blocking=*/true);
  if (!switches().padded_reduce_reads_past_its_slice) slice.narrow(0, source.numel(), padding).zero_();
}

void Reducer::flush(const Place& place) {
  for (auto& [dtype, lane] : lanes_) flush(lane, place);
}

void Reducer::drop_buckets() { lanes_.clear(); }

BucketFacts Reducer::facts(at::ScalarType dtype) const {
  const auto found = lanes_.find(dtype);
  if (found == lanes_.end()) return {};
  const Lane& lane = found->second;
  const auto bytes = [](const Bucket& bucket) {
    return bucket.flat.defined() ? static_cast<std::int64_t>(bucket.flat.nbytes()) : 0;
  };
  return {lane.filling.elements, lane.filling.used, static_cast<std::int64_t>(lane.queue.size()), lane.flushes,
          bytes(lane.filling) + bytes(lane.other)};
}

Reducer::Bucket Reducer::make_bucket(std::int64_t elements, const at::Tensor& like) const {
  const On on(streams_, Line::kReduce);
  // The defect reads up to W-1 elements beyond the last slice. The bucket has them, filled with zeros, so that the
  // result is reproducible.
  const std::int64_t behind = switches().padded_reduce_reads_past_its_slice ? world_.size() - 1 : 0;
  Bucket bucket{at::empty({elements + behind}, like.options()), elements, 0, {}};
  if (behind > 0) bucket.flat.narrow(0, elements, behind).zero_();
  streams_.set(bucket.free, Line::kReduce);
  return bucket;
}

/// The slice that will be reduced: the parameter's padded elements.
at::Tensor Reducer::slice_for(Lane& lane, const Parameter& parameter, const at::Tensor& source, const Place& place) {
  const bool reads_past = switches().padded_reduce_reads_past_its_slice;
  const std::int64_t wanted = reads_past ? parameter.elements : parameter.padded_elements;
  if (lane.filling.used > 0 && lane.filling.used + wanted > lane.filling.elements) {
    flush(lane, place);
  }
  Bucket& bucket = lane.filling;
  if (!bucket.flat.defined() || wanted > bucket.elements) {
    bucket = make_bucket(std::max(wanted, options_.bucket_elements), source);
  }
  if (bucket.used == 0) streams_.wait(Line::kCopy, bucket.free);
  at::Tensor slice = bucket.flat.narrow(0, bucket.used, parameter.padded_elements);
  bucket.used += wanted;
  return slice;
}

void Reducer::flush(Lane& lane, const Place& place) {
  if (lane.queue.empty()) return;
  // Empty the queue before anything can fail, so that the next step can begin after an error.
  const std::vector<Pending> queue = std::exchange(lane.queue, {});
  lane.queued.clear();
  lane.filling.used = 0;
  if (options_.double_buffered) std::swap(lane.filling, lane.other);
  Bucket& full = options_.double_buffered ? lane.other : lane.filling;
  ++lane.flushes;
  streams_.after(Line::kReduce, Line::kCopy);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i == 0 || queue[i].from != queue[i - 1].from) streams_.after(queue[i].from, Line::kCopy);
  }
  const On on(streams_, Line::kReduce);

  const auto direct = [](const Pending& one) {
    return !one.parameter->accumulates && one.parameter->gradient.scalar_type() == one.slice.scalar_type();
  };
  std::int64_t scratch_elements = 0;
  for (const Pending& one : queue) scratch_elements += direct(one) ? 0 : one.parameter->shard_elements;
  const at::Tensor scratch = at::empty({scratch_elements}, queue.front().slice.options());

  std::vector<ReduceTask> tasks;
  std::int64_t offset = 0;
  for (const Pending& one : queue) {
    if (options_.pre_divides) one.slice.narrow(0, 0, one.source.numel()).div_(world_.size());
    at::Tensor into = one.parameter->gradient;
    if (!direct(one)) {
      into = scratch.narrow(0, offset, one.parameter->shard_elements);
      offset += one.parameter->shard_elements;
    }
    tasks.push_back({one.slice, into});
  }
  streams_.set(full.free, Line::kReduce);  // also if the collective fails
  world_.reduce_scatter(tasks, options_.pre_divides ? Reduction::kSum : Reduction::kMean, place);

  for (std::size_t i = 0; i < queue.size(); ++i) {
    Parameter& parameter = *queue[i].parameter;
    if (!direct(queue[i])) {
      parameter.accumulates ? parameter.gradient.add_(tasks[i].into) : parameter.gradient.copy_(tasks[i].into);
    }
    parameter.accumulates = true;
  }
  streams_.set(full.free, Line::kReduce);
}

}  // namespace dcmt::zero3
