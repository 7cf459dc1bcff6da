#include "analyzer/model/report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace dcmt::model {
namespace {

using analyzer::Analysis;
using analyzer::RemarkKind;

Bytes growth_per_step(const Analysis& analysis) {
  std::map<StorageId, Bytes> storages;
  std::int64_t from = std::numeric_limits<std::int64_t>::max(), to = 0, sum = 0;
  for (const analyzer::Finding& finding : analysis.findings) {
    if (!finding.growth || finding.growth->rounds == 0) continue;
    from = std::min(from, finding.growth->first_round);
    const std::int64_t begun = finding.growth->begun_with.value > 0 ? 1 : 0;
    to = std::max(to, finding.growth->first_round + finding.growth->rounds - begun);
    sum -= finding.growth->begun_with.value;
    for (const analyzer::GrowingStorage& each : finding.growth->storages) storages[each.storage] = each.bytes;
  }
  for (const auto& [storage, bytes] : storages) sum += bytes.value;
  return Bytes(to > from ? sum / (to - from) : sum);
}

Summary summary_of(const Analysis& analysis) {
  Summary summary;
  summary.growth_per_step = growth_per_step(analysis);
  std::set<std::string> trial_origins;
  for (const analyzer::Finding& finding : analysis.findings) {
    for (const analyzer::OomVerdict& verdict : finding.out_of_memory) {
      ++summary.errors;
      summary.errors_in_vain += verdict.fits_without_dead ? 1 : 0;
    }
    if (finding.aside()) {
      ++summary.trials;
      trial_origins.insert(finding.origins.begin(), finding.origins.end());
      continue;
    }
    if (finding.rule == "residual") {
      for (const analyzer::FindingItem& item : finding.items)
        ++(item.row->let_go_by != analyzer::kNoThread ? summary.late : summary.residual);
    }
    if (finding.rule == "use_after_release") summary.read_early += finding.keys();
    if (finding.rule == "never_released") summary.never_released += finding.keys();
  }
  summary.only_trials = summary.trials == static_cast<std::int64_t>(analysis.findings.size());
  summary.trial_origins.assign(trial_origins.begin(), trial_origins.end());
  return summary;
}

}  // namespace

ComparableReport Report::comparable() const {
  ComparableReport comparable;
  for (const DevicePeak& device : devices) {
    comparable.devices.push_back({device.bytes, device.predicted_bytes, device.dead_bytes});
  }
  comparable.steps = facts.steps;
  comparable.releases = releases.total;
  comparable.lost = facts.lost;
  for (const ReportedFinding& finding : findings) {
    comparable.findings.push_back({finding.rule, finding.classes, finding.items.size(), finding.bytes,
                                   finding.parameters, finding.unexplained, finding.reads});
  }
  return comparable;
}

Report report_of(const std::string& path, const Analysis& analysis) {
  Report report;
  report.path = path;
  report.rank = analysis.facts.rank;
  report.peak = peak_of(analysis);
  for (const analyzer::DeviceAnalysis& device : analysis.devices) {
    report.devices.push_back(device_peak_of(analysis, device));
  }
  report.releases = totals_of(analysis.releases);
  report.findings = findings_of(analysis);
  report.remarks = analysis.remarks;
  for (const analyzer::Remark& remark : report.remarks) {
    const bool missed = remark.kind == RemarkKind::kUntracked || remark.kind == RemarkKind::kFirstMissed;
    report.not_followed += missed ? remark.count : 0;
  }
  report.steps = analysis.main().steps;
  report.survivors = survivors_of(*analysis.data, analysis.survivors);
  report.watched = watched_storages(*analysis.data);
  report.facts = analysis.facts;
  if (job_has_several(analysis.data->job)) report.job = job_peak(analysis.data->job);
  report.summary = summary_of(analysis);
  report.final_releases = final_releases_of(analysis.releases);
  report.outliving = outliving(*analysis.data, analysis.survivors);
  return report;
}

}  // namespace dcmt::model
