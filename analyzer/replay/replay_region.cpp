#include "analyzer/replay/replay_region.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dcmt::analyzer {
namespace {

Sequence after_all(const TraceData& data) { return Sequence(last_sequence(data).value + 1); }

ReplayRegion of_steps(const Analysis& analysis, const Step* first, const Step* last) {
  ReplayRegion region;
  const std::vector<Step>& steps = analysis.releases.steps;
  region.from = Sequence(1);
  if (first != nullptr) {
    region.from = first->from;
  } else if (!steps.empty()) {
    region.from = steps.back().to;  // the part after the last step
  }
  region.to = last != nullptr && last->to.valid() ? last->to : after_all(*analysis.data);
  for (const Step& step : steps) {
    if (step.to.valid() && step.to > region.from && step.to <= region.to) region.steps.push_back(step);
  }
  return region;
}

const Step* later(const Step* a, const Step* b) {
  if (a == nullptr || b == nullptr) return nullptr;
  return a->to < b->to ? b : a;
}

}  // namespace

Expected<ReplayRegion> region_of(const Analysis& analysis, const Finding& finding) {
  const std::vector<Step>& steps = analysis.releases.steps;
  if (!finding.out_of_memory.empty()) {
    const Step* step = finding.out_of_memory.front().step;
    return of_steps(analysis, step, step);
  }
  if (finding.items.empty()) {
    return Error{ErrorCode::kNotComparable, "finding " + std::to_string(finding.number) + " (" + finding.title +
                                                ") is of no parameter: there is no cycle to replay."};
  }
  // The stretch with most items; of several, the one with the peak, else the first.
  std::map<std::pair<Sequence, Sequence>, std::pair<ReplayRegion, std::size_t>> stretches;
  std::size_t most = 0;
  for (const FindingItem& item : finding.items) {
    const Step* first = item.step;
    const Step* last = first;
    for (const Mark* read : item.reads) last = later(last, step_at(steps, read->span.from_seq));
    const ReplayRegion region = of_steps(analysis, first, last);
    auto& [kept, count] = stretches[{region.from, region.to}];
    kept = region;
    most = std::max(most, ++count);
  }
  const Sequence peak = analysis.main().what_if.measured.seq;
  const ReplayRegion* best = nullptr;
  for (const auto& [bounds, stretch] : stretches) {
    const bool has_peak = bounds.first <= peak && peak < bounds.second;
    if (stretch.second == most && (best == nullptr || has_peak)) best = &stretch.first;
  }
  return *best;
}

Expected<ReplayRegion> region_of_step(const Analysis& analysis, std::int64_t step) {
  for (const Step& one : analysis.releases.steps) {
    if (one.number == step && one.count == 1) return of_steps(analysis, &one, &one);
  }
  return Error{ErrorCode::kUsage, "the trace has no step " + std::to_string(step) + "."};
}

ReplayRegion region_of_peak(const Analysis& analysis) {
  return of_steps(analysis, analysis.main().peak_step, analysis.main().peak_step);
}

}  // namespace dcmt::analyzer
