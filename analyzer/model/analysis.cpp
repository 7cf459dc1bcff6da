#include "analyzer/model/analysis.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/rules/rules.h"

namespace dcmt::analyzer {
namespace {

/// Storages that several items name count once.
Bytes alive_at(const TraceData& data, const Finding& finding, const Peak& peak) {
  std::set<BlockId> counted;
  Bytes bytes;
  for (const FindingItem& item : finding.items) {
    if (item.since > peak.seq || (item.until.valid() && item.until <= peak.seq)) continue;
    for (const Block* block : data.blocks_by_storage.of(item.storage)) {
      const bool alive = block->device == peak.device && block->span.covers(peak.seq);
      if (alive && counted.insert(block->id).second) bytes.value += block->bytes.value;
    }
  }
  return bytes;
}

void add_share_of_peak(const TraceData& data, const Peak& peak, Finding& finding) {
  finding.alive_at_peak = alive_at(data, finding, peak);
  std::vector<const ReleaseRow*> rows;
  for (const FindingItem& item : finding.items) {
    if (item.row != nullptr && item.row->residual) rows.push_back(item.row);
  }
  const std::vector<Gap> gaps = gaps_at_release(data, rows);
  if (gaps.empty()) return;
  finding.dead_at_peak = bytes_in_gaps(gaps, peak.device, peak.seq);
  finding.peak_share = peak.bytes.value > 0
                           ? static_cast<double>(finding.dead_at_peak.value) / static_cast<double>(peak.bytes.value)
                           : 0;
  finding.predicted_peak = peak_of(data, peak.device, gaps).bytes;
}

}  // namespace

Analysis analyze(const TraceData& data) {
  Analysis analysis{&data, {},      PhaseIndex(data), analyze_releases(data), {}, {}, {}, step_survivors(data),
                    {},    nullptr, nullptr};
  if (const std::vector<StringId> devices = devices_of(data); !devices.empty()) analysis.device = devices.front();
  analysis.what_if = what_if(data, analysis.device, analysis.releases.residual());
  analysis.steps =
      step_peaks(data, analysis.releases.steps, analysis.device, gaps_at_release(data, analysis.releases.residual()));
  const Peak& peak = analysis.what_if.measured;
  if (peak.seq.valid()) {
    analysis.peak_step = step_at(analysis.releases.steps, peak.seq);
    analysis.peak_phase = analysis.phases.at(peak.seq);
  }
  for (const auto rule : {rules::out_of_memory, rules::residual, rules::use_after_release, rules::never_released,
                          rules::awaits_stream, rules::reserved_beyond_active}) {
    for (Finding& finding : rule(data, analysis.releases)) analysis.findings.push_back(std::move(finding));
  }
  for (Finding& finding : analysis.findings) {
    // What an out-of-memory error points at has findings of its own.
    if (finding.out_of_memory.empty()) add_share_of_peak(data, peak, finding);
  }
  std::stable_sort(analysis.findings.begin(), analysis.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(!a.out_of_memory.empty(), !a.aside(), a.dead_at_peak, a.byte_seconds) >
           std::tuple(!b.out_of_memory.empty(), !b.aside(), b.dead_at_peak, b.byte_seconds);
  });
  std::int64_t number = 0;
  for (Finding& finding : analysis.findings) finding.number = ++number;
  analysis.facts = run_facts(data, analysis.releases);
  return analysis;
}

}  // namespace dcmt::analyzer
