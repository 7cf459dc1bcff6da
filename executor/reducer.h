// Collects gradients in buckets, one pair for each dtype, and reduces one bucket at a time into the partitions.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include "executor/errors.h"
#include "executor/registry.h"
#include "executor/streams.h"
#include "executor/world.h"

namespace dcmt::zero3 {

struct ReducerOptions {
  std::int64_t bucket_elements = 0;
  bool double_buffered = true;
  bool pre_divides = true;  ///< true: gradients are divided by W before their sum; false: the collective has the mean
};

struct BucketFacts {
  std::int64_t elements = 0;  ///< size of the bucket that is being filled
  std::int64_t used = 0;
  std::int64_t queued = 0;  ///< gradients held until the flush
  std::int64_t flushes = 0;
  std::int64_t held_bytes = 0;  ///< bytes of both buckets
};

class Reducer {
 public:
  Reducer(World& world, Streams& streams, ReducerOptions options)
      : world_(world), streams_(streams), options_(options) {}

  /// Copies the gradient into a bucket, and keeps the gradient alive until the bucket is flushed.
  void add(const at::Tensor& gradient, Parameter& parameter, const Place& place);
  void flush(const Place& place);
  /// Frees all buckets. The queue must have been flushed.
  void drop_buckets();

  BucketFacts facts(at::ScalarType dtype) const;

 private:
  struct Bucket {
    at::Tensor flat;
    std::int64_t elements = 0;  ///< elements for slices
    std::int64_t used = 0;
    Point free;  ///< reached when the reductions that read the bucket are done
  };
  struct Pending {
    Parameter* parameter;
    at::Tensor source;
    c10::Stream from;  ///< stream whose pool gets the source's memory back
    at::Tensor slice;
  };
  struct Lane {
    Bucket filling;
    Bucket other;  ///< second bucket of a double-buffered pair
    std::vector<Pending> queue;
    std::unordered_set<const Parameter*> queued;
    std::int64_t flushes = 0;
  };

  Bucket make_bucket(std::int64_t elements, const at::Tensor& like) const;
  at::Tensor slice_for(Lane& lane, const Parameter& parameter, const at::Tensor& source, const Place& place);
  void fill(const at::Tensor& slice, const at::Tensor& source) const;
  void flush(Lane& lane, const Place& place);

  World& world_;
  Streams& streams_;
  const ReducerOptions options_;
  std::map<at::ScalarType, Lane> lanes_;  ///< iterated in the same order on all ranks
};

}  // namespace dcmt::zero3
