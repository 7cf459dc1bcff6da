#include "collector/recorder/interval_sums.h"

#include <algorithm>

#include "collector/recorder/saturating_sum.h"

namespace dcmt::recorder {

std::int64_t IntervalSums::peak() const {
  std::int64_t highest = 0;
  for (const IntervalCurveRow& curve : curves) highest = std::max(highest, curve.peak_bytes);
  return highest;
}

std::int64_t IntervalSums::allocated() const {
  std::int64_t bytes = 0;
  for (const IntervalCurveRow& curve : curves) bytes += curve.end_bytes;
  return bytes;
}

IntervalCurveRow& IntervalSums::curve(std::string_view device, const Moment& at) {
  for (IntervalCurveRow& known : curves) {
    if (known.device == device) return known;
  }
  IntervalCurveRow fresh;
  fresh.interval = row.id;
  fresh.device = device;
  fresh.peak_at = at;
  return curves.emplace_back(fresh);
}

std::int64_t IntervalSums::alloc(Device device, std::int64_t bytes, const Moment& at) {
  IntervalCurveRow& sums = curve(device.name(), at);
  ++sums.allocs;
  sums.alloc_bytes += bytes;
  sums.end_bytes += bytes;
  if (sums.end_bytes > sums.peak_bytes) {
    sums.peak_bytes = sums.end_bytes;
    sums.peak_at = at;
  }
  return sums.end_bytes;
}

void IntervalSums::free(Device device, std::int64_t bytes, const Moment& at) {
  IntervalCurveRow& sums = curve(device.name(), at);
  ++sums.frees;
  sums.free_bytes += bytes;
  sums.end_bytes -= bytes;
}

IntervalSums IntervalSums::next(RowId id, const Moment& at) const {
  IntervalSums following;
  following.row.id = id;
  following.row.span.from = at;
  for (const IntervalCurveRow& before : curves) {
    IntervalCurveRow& curve = following.curves.emplace_back();
    curve.interval = id;
    curve.device = before.device;
    curve.begin_bytes = curve.peak_bytes = curve.end_bytes = before.end_bytes;
    curve.peak_at = at;
  }
  return following;
}

void IntervalSums::merge(const IntervalSums& following) {
  const IntervalRow& more = following.row;
  row.step = more.step;
  row.steps += more.steps;
  row.records += more.records;
  row.operators += more.operators;
  row.storages += more.storages;
  row.tensors += more.tensors;
  row.releases += more.releases;
  row.residual += more.residual;
  row.residual_bytes = saturating_sum(row.residual_bytes, more.residual_bytes);
  row.span.to = more.span.to;
  for (const IntervalCurveRow& later : following.curves) {
    IntervalCurveRow& sums = curve(later.device, more.span.from);
    sums.allocs += later.allocs;
    sums.alloc_bytes += later.alloc_bytes;
    sums.frees += later.frees;
    sums.free_bytes += later.free_bytes;
    sums.end_bytes = later.end_bytes;
    if (later.peak_bytes <= sums.peak_bytes) continue;
    sums.peak_bytes = later.peak_bytes;
    sums.peak_at = later.peak_at;
  }
}

}  // namespace dcmt::recorder
