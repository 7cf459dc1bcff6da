#include "analyzer/replay/replay_choice.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/replay/replay_planner.h"
#include "analyzer/replay/replay_region.h"

namespace dcmt::analyzer {
namespace {

/// Findings in the same stretch share one replay.
Status add(const Analysis& analysis, const Expected<ReplayRegion>& region, const Finding* finding,
           std::vector<ChosenReplay>& replays) {
  if (!region.ok()) return region.error();
  auto known = std::ranges::find_if(replays, [&](const ChosenReplay& replay) { return replay.plan.region == *region; });
  if (known == replays.end()) {
    Expected<ReplayPlan> plan = plan_of(analysis, *region);
    if (!plan.ok()) {
      const std::string of = finding != nullptr ? "finding " + std::to_string(finding->number) + ": " : "";
      return {plan.error().code, of + plan.error().message};
    }
    known = replays.insert(replays.end(), {std::move(*plan), {}});
  }
  if (finding != nullptr) known->findings.push_back(finding);
  return {};
}

}  // namespace

Expected<ReplayChoice> choose_replays(const Analysis& analysis, const ReplayRequest& request) {
  ReplayChoice choice;
  if (request.step) {
    DCMT_RETURN_IF_ERROR(add(analysis, region_of_step(analysis, *request.step), nullptr, choice.replays));
    return choice;
  }
  for (const Finding& finding : analysis.findings) {
    if (request.finding && finding.number != *request.finding) continue;
    const Status added = add(analysis, region_of(analysis, finding), &finding, choice.replays);
    if (!added.ok()) choice.left_out.push_back(added.error());
  }
  if (!choice.replays.empty()) return choice;
  if (!choice.left_out.empty()) return choice.left_out.front();
  if (request.finding) {
    return Error{ErrorCode::kUsage, "the trace has no finding " + std::to_string(*request.finding) +
                                        "; dc-memtrace report lists those it has."};
  }
  DCMT_RETURN_IF_ERROR(add(analysis, region_of_peak(analysis), nullptr, choice.replays));
  return choice;
}

}  // namespace dcmt::analyzer
