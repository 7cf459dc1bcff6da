#include "analyzer/model/analysis.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/releases/analyze_releases.h"
#include "analyzer/rules/identity.h"
#include "analyzer/rules/idle_settings.h"
#include "analyzer/rules/kept.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/said_twice.h"
#include "analyzer/rules/steps_in_turn.h"
#include "analyzer/rules/unfollowed_growth.h"
#include "analyzer/rules/unnamed.h"
#include "analyzer/storages/stacks.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

/// The zero id if the CPU has no blocks.
StringId cpu_of(const TraceData& data) {
  for (const StringId device : devices_of(data)) {
    if (data.text(device) == "cpu") return device;
  }
  return {};
}

/// The device of a finding's storages: of the first one whose block is in the trace.
StringId device_of(const TraceData& data, const Finding& finding) {
  if (finding.device.valid()) return finding.device;
  if (finding.outside || finding.objects || finding.forked || finding.native) return cpu_of(data);
  if (finding.growth) return analyzer::device_of(data, finding.growth->storages.back().storage);
  if (!finding.out_of_memory.empty()) return finding.out_of_memory.front().oom->device;
  for (const FindingItem& item : finding.items) {
    if (const StringId device = analyzer::device_of(data, item.storage); device.valid()) return device;
  }
  return {};
}

/// Storages that were there when all objects were read at the program's end, where it waits, and to which nothing led:
/// no variable, and no cycle of Python's objects. Of several such readings, the last ones may be of an interpreter that
/// has begun to drop what it has.
std::int64_t searched_in_vain(const TraceData& data, const Growth& growth) {
  const Scan *searched = nullptr, *first = nullptr;
  for (const Scan& each : data.owners.scans) {
    if (!each.everything || !each.ended) continue;
    searched = &each;
    if (first == nullptr) first = &each;
  }
  if (searched == nullptr) return 0;
  return std::ranges::count_if(growth.storages, [&](const GrowingStorage& each) {
    const Storage* storage = data.storages.find(each.storage);
    const auto paths = data.owners.paths_to(each.storage);
    return storage != nullptr && storage->span.covers(searched->from) &&
           (paths.empty() || paths.front().last_scan < first->id);
  });
}

/// Growth without a known holder is no finding: the next run of Python's collector may end it.
std::vector<Remark> extract_unheld(const TraceData& data, std::vector<Finding>& findings) {
  const auto is_unheld = [](const Finding& each) { return each.rule == "grows" && each.growth->holder.empty(); };
  std::vector<Remark> remarks;
  for (const Finding& finding : findings) {
    if (!is_unheld(finding)) continue;
    Remark remark;
    remark.kind = RemarkKind::kGrows;
    remark.count = static_cast<std::int64_t>(finding.growth->storages.size());
    remark.bytes = finding.bytes;
    remark.seen = std::ranges::count_if(
        finding.growth->storages, [&](const GrowingStorage& each) { return data.owners.of(each.storage) != nullptr; });
    remark.searched = searched_in_vain(data, *finding.growth);
    remark.per_step = finding.growth->per_round;
    remark.round = name_of(finding.growth->kind);
    remark.place = describe_site(data, finding.growth->sites.front().stack);
    remarks.push_back(std::move(remark));
  }
  std::erase_if(findings, is_unheld);
  return remarks;
}

/// If memory ran out because of what was kept, the error's cause is that, not the program's need.
void blame_growth(const TraceData& data, std::vector<Finding>& findings) {
  for (Finding& error : findings) {
    if (error.out_of_memory.empty() || error.out_of_memory.front().cause != OomCause::kNeeded) continue;
    const OomVerdict& verdict = error.out_of_memory.front();
    std::int64_t kept = 0;
    std::string growing;
    for (const Finding& other : findings) {
      if (!other.growth) continue;
      const Bytes bytes = bytes_in_gaps(gaps_of_growth(data, *other.growth), verdict.oom->device, verdict.oom->seq);
      if (bytes.value == 0) continue;
      kept += bytes.value;
      growing += (growing.empty() ? "finding " : ", finding ") + std::to_string(other.number);
    }
    if (verdict.dead.value + kept < verdict.missing.value || growing.empty()) continue;
    error.why = rounded_bytes(kept) + " of what was alive had been kept without need (" + growing + ")";
    error.fix = "mend " + growing + "; without what it keeps, the request fits";
  }
}

/// What would have helped at an error, or that nothing would, is what the finding about fragmentation says.
void point_at_fragmentation(std::vector<Finding>& findings) {
  for (Finding& error : findings) {
    for (const Finding& other : findings) {
      if (!other.fragmentation || !other.fragmentation->at_error) continue;
      const Sequence at = other.fragmentation->at->seq;
      const bool is_of =
          std::ranges::any_of(error.out_of_memory, [&](const OomVerdict& each) { return each.oom->seq == at; });
      if (!is_of || error.out_of_memory.front().cause == OomCause::kHeld) continue;
      error.fix = "finding " + std::to_string(other.number) + ": " + other.fix;
      const Remedy* best = other.fragmentation->best();
      if (best != nullptr && best->fits == true) {
        error.why = "there was enough, with what was reserved and free, but not in one piece";
      }
    }
  }
}

/// Sorts findings into the order of a report, and numbers them.
void order_findings(Analysis& analysis) {
  std::map<StringId, std::ptrdiff_t> before_end;  // the first device has the most devices after it
  for (const DeviceAnalysis& device : analysis.devices) {
    before_end[device.device] = analysis.devices.data() + analysis.devices.size() - &device;
  }
  std::stable_sort(analysis.findings.begin(), analysis.findings.end(), [&](const Finding& a, const Finding& b) {
    return std::tuple(!a.out_of_memory.empty(), !a.aside(), before_end[a.device], a.dead_at_peak, a.byte_seconds) >
           std::tuple(!b.out_of_memory.empty(), !b.aside(), before_end[b.device], b.dead_at_peak, b.byte_seconds);
  });
  std::map<std::int64_t, std::int64_t> numbers;
  for (Finding& finding : analysis.findings) {
    const auto number = static_cast<std::int64_t>(numbers.size()) + 1;
    numbers[finding.number] = number;
    finding.number = number;
  }
  for (DeviceAnalysis& device : analysis.devices) {
    for (SharedBytes& shared : device.shared) {
      for (std::int64_t& number : shared.findings) number = numbers[number];
      std::sort(shared.findings.begin(), shared.findings.end());
    }
  }
}

}  // namespace

Analysis analyze(const TraceData& data) { return std::move(*analyze(data, Watch())); }

Expected<Analysis> analyze(const TraceData& data, const Watch& watch) {
  Analysis analysis;
  analysis.data = &data;
  analysis.phases = PhaseIndex(data);
  analysis.releases = analyze_releases(data);
  DCMT_RETURN_IF_ERROR(watch.check());
  watch.done(0.3);
  analysis.survivors = step_survivors(data);
  for (const StringId device : devices_of(data)) {
    DCMT_RETURN_IF_ERROR(watch.check());
    analysis.devices.push_back(analyze_device(data, analysis.releases, analysis.phases, device));
  }
  if (analysis.devices.empty()) analysis.devices.emplace_back();
  watch.done(0.6);
  const auto add = [&](std::vector<Finding> findings) {
    for (Finding& finding : findings) {
      finding.number = static_cast<std::int64_t>(analysis.findings.size()) + 1;
      if (!finding.device.valid()) finding.device = device_of(data, finding);
      analysis.findings.push_back(std::move(finding));
    }
  };
  for (const auto rule :
       {rules::out_of_memory, rules::residual, rules::use_after_release, rules::never_released, rules::grows,
        rules::kept_by_traceback, rules::grows_outside, rules::grows_objects, rules::grows_forked, rules::grows_native,
        rules::awaits_stream, rules::reused_in_flight, rules::fragmented}) {
    DCMT_RETURN_IF_ERROR(watch.check());
    add(rule(data, analysis.releases));
  }
  std::vector<Peak> peaks;
  for (const DeviceAnalysis& device : analysis.devices) peaks.push_back(device.what_if.measured);
  add(rules::graphs_without_backward(data, peaks, analysis.findings));
  add(rules::duplicates(data, peaks));
  watch.done(0.8);
  analysis.remarks = remarks(data, analysis.releases);
  std::ranges::move(kept(data, peaks, analysis.findings), std::back_inserter(analysis.remarks));
  std::ranges::move(unnamed(data, peaks), std::back_inserter(analysis.remarks));
  std::ranges::move(remarks_of_settings(data), std::back_inserter(analysis.remarks));
  for (const auto& remark : {unfollowed_growth(data), steps_in_turn(data)}) {
    if (remark) analysis.remarks.push_back(*remark);
  }
  const std::vector<Remark> unheld = extract_unheld(data, analysis.findings);
  drop_said_twice(data, analysis.findings);
  identify(data, analysis.findings);
  for (DeviceAnalysis& device : analysis.devices) add_what_if(data, analysis.releases, device, analysis.findings);
  order_findings(analysis);
  blame_growth(data, analysis.findings);
  point_at_fragmentation(analysis.findings);
  analysis.remarks.insert(analysis.remarks.end(), unheld.begin(), unheld.end());
  analysis.facts = run_facts(data, analysis.releases);
  watch.done(1);
  return analysis;
}

Status keep_device(Analysis& analysis, const std::string& path, std::string_view name) {
  std::vector<std::string_view> names;
  for (const DeviceAnalysis& device : analysis.devices) names.push_back(analysis.data->text(device.device));
  DCMT_ASSIGN_OR_RETURN(const std::size_t at, device_named(path, names, name));
  const DeviceAnalysis kept = std::move(analysis.devices[at]);
  std::erase_if(analysis.findings, [&](const Finding& finding) { return finding.device != kept.device; });
  analysis.devices = {kept};
  return {};
}

}  // namespace dcmt::analyzer
