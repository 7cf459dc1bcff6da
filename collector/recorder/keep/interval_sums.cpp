#include "collector/recorder/keep/interval_sums.h"

#include <algorithm>
#include <cstdlib>

#include "collector/recorder/keep/saturating_sum.h"

namespace dcmt::recorder {
namespace {

/// Sets the end of a curve to `bytes`.
void raise(std::optional<std::int64_t>& peak, std::optional<std::int64_t>& end, std::int64_t bytes) {
  end = bytes;
  peak = std::max(peak, end);  // an empty optional is the lowest value
}

}  // namespace

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

std::int64_t IntervalSums::allocated(Device device) const {
  const auto known = std::ranges::find(curves, device.name(), &IntervalCurveRow::device);
  return known != curves.end() ? known->end_bytes : 0;
}

IntervalCurveRow& IntervalSums::curve(std::string_view device, const Point& at) {
  for (IntervalCurveRow& known : curves) {
    if (known.device == device) return known;
  }
  IntervalCurveRow fresh;
  fresh.interval = row.id;
  fresh.device = device;
  fresh.peak_at = at;
  return curves.emplace_back(fresh);
}

std::int64_t IntervalSums::alloc(Device device, std::int64_t bytes, const Point& at) {
  ++curve(device.name(), at).allocs;
  return change(device, bytes, at);
}

void IntervalSums::free(Device device, std::int64_t bytes, const Point& at, bool waits) {
  IntervalCurveRow& sums = curve(device.name(), at);
  ++sums.frees;
  sums.free_bytes += bytes;
  sums.end_bytes -= bytes;
  if (sums.active_end && !waits) *sums.active_end -= bytes;
}

std::int64_t IntervalSums::change(Device device, std::int64_t bytes, const Point& at) {
  IntervalCurveRow& sums = curve(device.name(), at);
  (bytes > 0 ? sums.alloc_bytes : sums.free_bytes) += std::abs(bytes);
  sums.end_bytes += bytes;
  if (sums.active_end) raise(sums.active_peak, sums.active_end, *sums.active_end + bytes);
  if (sums.end_bytes > sums.peak_bytes) {
    sums.peak_bytes = sums.end_bytes;
    sums.peak_at = at;
  }
  return sums.end_bytes;
}

void IntervalSums::free_done(Device device, std::int64_t bytes, const Point& at) {
  if (auto& active = curve(device.name(), at).active_end) *active -= bytes;
}

void IntervalSums::reserve(Device device, std::int64_t bytes, bool traced, const Point& at) {
  IntervalCurveRow& sums = curve(device.name(), at);
  raise(sums.reserved_peak, sums.reserved_end, bytes);
  if (traced && !sums.active_end) raise(sums.active_peak, sums.active_end, sums.end_bytes);
}

IntervalSums IntervalSums::next(RowId id, const Point& at) const {
  IntervalSums following;
  following.row.id = id;
  following.row.span.from = at;
  for (const IntervalCurveRow& before : curves) {
    IntervalCurveRow& curve = following.curves.emplace_back();
    curve.interval = id;
    curve.device = before.device;
    curve.begin_bytes = curve.peak_bytes = curve.end_bytes = before.end_bytes;
    curve.peak_at = at;
    curve.active_peak = curve.active_end = before.active_end;
    curve.reserved_peak = curve.reserved_end = before.reserved_end;
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
    sums.active_peak = std::max(sums.active_peak, later.active_peak);
    sums.active_end = later.active_end;
    sums.reserved_peak = std::max(sums.reserved_peak, later.reserved_peak);
    sums.reserved_end = later.reserved_end;
    if (later.peak_bytes <= sums.peak_bytes) continue;
    sums.peak_bytes = later.peak_bytes;
    sums.peak_at = later.peak_at;
  }
}

}  // namespace dcmt::recorder
