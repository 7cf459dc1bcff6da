#include "analyzer/model/curve_view.h"

#include <algorithm>

namespace dcmt::model {
namespace {

using analyzer::CurveStretch;

CurveDevice device_of(const analyzer::DeviceCurve& curve) {
  return {curve.device, curve.whole.highest, {curve.whole.highest_seq, curve.whole.highest_ns}};
}

double share_of(Bytes bytes, Bytes peak) {
  return bytes.value > 0 ? static_cast<double>(bytes.value) / static_cast<double>(peak.value) : 0;
}

CurveRow row_of(const analyzer::CurveRow& row, const analyzer::CurveOverview& curve) {
  const CurveStretch& from = row.stretch;
  const CurveStretch& whole = curve.device.whole;
  CurveRow result;
  result.from = {from.from, from.from_ns};
  result.to = {from.to, from.to_ns};
  if (row.steps) {
    result.first_step = row.steps->first;
    result.last_step = row.steps->last;
  }
  result.lowest = from.lowest;
  result.lowest_exact = !from.only_peaks;
  result.highest = from.highest;
  result.highest_at = {from.highest_seq, from.highest_ns};
  result.last = from.last;
  result.after_start = TimeNs(from.from_ns.value - curve.start.value);
  result.lowest_share = share_of(from.lowest, whole.highest);
  result.highest_share = share_of(from.highest, whole.highest);
  result.has_peak = from.highest_seq == whole.highest_seq;
  return result;
}

}  // namespace

CurveView curve_view(const std::string& path, std::int64_t rank, const analyzer::CurveOverview& curve) {
  CurveView view;
  view.path = path;
  view.rank = rank;
  view.stored = curve.stored;
  for (const analyzer::DeviceCurve& device : curve.devices) view.devices.push_back(device_of(device));
  if (!curve.devices.empty()) view.device = curve.device.device;
  for (const analyzer::CurveRow& row : curve.rows) view.rows.push_back(row_of(row, curve));
  view.of = device_of(curve.device);
  if (curve.peak_steps) {
    view.first_step = curve.peak_steps->first;
    view.last_step = curve.peak_steps->last;
  }
  view.length = TimeNs(curve.device.whole.to_ns.value - curve.start.value);
  view.all_lowest_exact = std::ranges::all_of(view.rows, &CurveRow::lowest_exact);
  return view;
}

}  // namespace dcmt::model
