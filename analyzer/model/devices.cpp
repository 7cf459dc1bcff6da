#include "analyzer/model/devices.h"

#include <algorithm>

#include "analyzer/allocator/model_run.h"
#include "analyzer/allocator/reserved_rows.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/curve.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;
using analyzer::DeviceAnalysis;
using analyzer::WhatIf;

double share_of(Bytes part, Bytes whole) { return static_cast<double>(part.value) / static_cast<double>(whole.value); }

void add_findings(const Analysis& analysis, const DeviceAnalysis& device, DevicePeak& peak) {
  for (const analyzer::Finding& finding : analysis.findings) {
    if (finding.device != device.device || !finding.predicted_peak) continue;
    peak.without_findings.push_back(finding.number);
    if (finding.dead_at_peak.value > 0) peak.dead_findings.push_back(finding.number);
    peak.alone.push_back({finding.number, *finding.predicted_peak, std::nullopt});
  }
}

/// Adds the operator and site of the allocation that reached the peak.
void add_place(const TraceData& data, const analyzer::Actor& birth, DevicePeak& peak) {
  if (const auto* op = analyzer::named_operator(data, birth.op)) peak.by_operator = data.text(op->name);
  if (birth.stack.valid()) peak.site = analyzer::describe_site(data, birth.stack);
}

/// Adds the peaks of reserved bytes without the findings, if the model of the allocator follows the run.
void add_reserved(const Analysis& analysis, const DeviceAnalysis& device, DevicePeak& peak) {
  const TraceData& data = *analysis.data;
  if (peak.without_findings.empty() || !analyzer::has_segments(data, device.device)) return;
  const analyzer::AllocatorRequests recorded = analyzer::requests_of(data, device.device);
  if (recorded.events.size() > analyzer::kMostEventsTried || !analyzer::modelled(recorded).can_predict()) return;
  const auto without = [&](const std::vector<std::int64_t>& findings) {
    const std::vector<analyzer::Gap> gaps = analyzer::gaps_without(data, device, analysis.findings, findings);
    const analyzer::AllocatorRequests requests = analyzer::requests_of(data, device.device, gaps);
    return Bytes(analyzer::predict_reserved(requests, requests.settings).reserved_peak);
  };
  peak.predicted_reserved_bytes = without(peak.without_findings);
  if (peak.alone.size() == 1) return;
  for (std::size_t i = 0; i < std::min(peak.alone.size(), kMostAlone); ++i) {
    peak.alone[i].reserved = without({peak.alone[i].finding});
  }
}

}  // namespace

DevicePeak device_peak_of(const Analysis& analysis, const DeviceAnalysis& device) {
  const TraceData& data = *analysis.data;
  const WhatIf& what_if = device.what_if;
  const analyzer::DevicePeaks peaks = analyzer::device_peaks_of(data, device.device);
  DevicePeak peak;
  peak.device = text_of(data, device.device);
  peak.bytes = what_if.measured.bytes;
  peak.at = point_of(what_if.measured.seq, what_if.measured.ns);
  peak.step = number_of(device.peak_step);
  if (device.peak_phase != nullptr) peak.phase = text_of(data, device.peak_phase->name);
  peak.active_bytes = peaks.active;
  peak.reserved_bytes = peaks.reserved;
  peak.needed_bytes = what_if.needed_at_peak;
  peak.dead_bytes = what_if.dead_at_peak;
  peak.predicted_bytes = what_if.predicted.bytes;
  peak.predicted_as = device.predicted_as;
  peak.predicted_last_use_bytes = what_if.predicted_last_use.bytes;
  peak.last_use_known = what_if.last_use_known;
  peak.shared = device.shared;
  peak.sums_only = data.sums_only_at(what_if.measured.seq) != nullptr;
  peak.needed_share = share_of(what_if.needed_at_peak, what_if.measured.bytes);
  peak.dead_share = share_of(what_if.dead_at_peak, what_if.measured.bytes);
  add_findings(analysis, device, peak);
  add_reserved(analysis, device, peak);
  if (what_if.measured.block != nullptr) add_place(data, what_if.measured.block->birth, peak);
  return peak;
}

LivePeak peak_of(const Analysis& analysis) {
  const DeviceAnalysis& device = analysis.main();
  const analyzer::Peak& measured = device.what_if.measured;
  LivePeak peak{device_peak_of(analysis, device), std::nullopt, {}, {}};
  if (measured.block != nullptr) peak.block = measured.block->id;
  peak.by = actor_of(*analysis.data, measured.block != nullptr ? measured.block->birth : analyzer::Actor());
  peak.live = LiveSet(analysis.data, &analysis.phases, device.device, measured.seq);
  return peak;
}

}  // namespace dcmt::model
