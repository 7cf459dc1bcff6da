#include "analyzer/replay/replay_views.h"

#include <algorithm>

namespace dcmt::model {
namespace {

using analyzer::ReplayDo;
using analyzer::ReplayPlan;
using analyzer::ReplayRegion;

std::optional<std::int64_t> first_step(const ReplayRegion& region) {
  return region.steps.empty() ? std::nullopt : std::optional(region.steps.front().number);
}

std::optional<std::int64_t> last_step(const ReplayRegion& region) {
  return region.steps.empty() ? std::nullopt : std::optional(region.steps.back().number);
}

PlanBuffer buffer_of(const TraceData& data, const analyzer::ReplayBuffer& from) {
  PlanBuffer buffer;
  buffer.graph = from.key.graph;
  buffer.key = from.key.key;
  buffer.id = from.id;
  buffer.storage = from.storage;
  buffer.bytes = from.bytes;
  buffer.dtype = text_of(data, from.dtype);
  if (from.stream != analyzer::kNoStream) buffer.stream = from.stream;
  buffer.persistent = from.persistent;
  buffer.shares = from.shares;
  for (const analyzer::ReplayHolder& holder : from.holders) {
    buffer.holders.push_back({holder.kind, holder.name, holder.function});
  }
  buffer.unnamed = from.unnamed;
  return buffer;
}

std::optional<std::int64_t> value_of(const analyzer::ReplayEvent& event) {
  switch (event.what) {
    case ReplayDo::kLevel:
    case ReplayDo::kMemory:
    case ReplayDo::kRead:
      return event.bytes.value;
    case ReplayDo::kRelease:
      return event.users;
    case ReplayDo::kStep:
      return event.step;
    default:
      return std::nullopt;
  }
}

bool is_of_buffer(ReplayDo what) {
  return what != ReplayDo::kLevel && what != ReplayDo::kMemory && what != ReplayDo::kStep &&
         what != ReplayDo::kOperator;
}

PlanEvent event_of(const analyzer::ReplayEvent& from) {
  PlanEvent event;
  event.what = from.what;
  event.at = from.at;
  if (from.thread != analyzer::kNoThread) event.thread = from.thread;
  if (is_of_buffer(from.what)) event.buffer = from.buffer;
  event.value = value_of(from);
  event.again = from.again;
  event.inside_release = from.inside_release;
  event.clears_tensor_only = from.clears_tensor_only;
  return event;
}

ReplayVerdicts verdicts_of(const analyzer::ReplayFacts& facts) {
  ReplayVerdicts verdicts;
  for (const analyzer::ReleaseFacts& release : facts.releases) verdicts.add(release.verdict);
  return verdicts;
}

std::int64_t count_of(const ReplayPlan& plan, ReplayDo what) {
  return std::ranges::count(plan.events, what, &analyzer::ReplayEvent::what);
}

ReplayView view_of(const Replay& replay) {
  const ReplayPlan& plan = replay.plan;
  ReplayView view;
  for (const analyzer::Finding* finding : replay.findings) {
    view.findings.push_back(finding->number);
    view.titles.push_back(finding->title);
  }
  view.first_step = first_step(plan.region);
  view.last_step = last_step(plan.region);
  view.events = static_cast<std::int64_t>(plan.events.size());
  view.buffers = static_cast<std::int64_t>(plan.buffers.size());
  view.switches = replay.switches;
  if (replay.switches.empty()) view.reproduced = !replay.difference;
  view.difference = replay.difference;
  view.releases = static_cast<std::int64_t>(plan.facts.releases.size());
  view.recorded_verdicts = verdicts_of(plan.facts);
  view.replayed_verdicts = verdicts_of(replay.facts);
  view.recorded_peak = plan.facts.peak;
  view.predicted_peak = plan.facts.predicted_peak;
  view.replayed_peak = replay.facts.peak;
  view.notes = plan.notes;
  view.after_last_step = plan.region.steps.empty() && plan.region.from > Sequence(1);
  view.gathers = count_of(plan, ReplayDo::kGather);
  view.release_events = count_of(plan, ReplayDo::kRelease);
  view.threads = static_cast<std::int64_t>(plan.threads().size());
  view.holders_known =
      std::ranges::any_of(plan.facts.releases, [](const auto& release) { return !release.holder_kinds.empty(); });
  if (replay.difference && replay.difference->release) {
    const analyzer::ReleaseFacts& release = plan.facts.releases[*replay.difference->release];
    view.differing_key = release.key;
    view.differing_storage = given(release.storage);
  }
  view.frees_by_switch = std::ranges::any_of(replay.switches, [](const std::string& one) {
    return one == "release_clears_tensor_only=off" || one == "wrapper_keeps_aliases=off";
  });
  return view;
}

}  // namespace

PlanFile plan_file(const std::string& path, const TraceData& data, const ReplayPlan& plan) {
  PlanFile file;
  file.trace = path;
  file.device = data.text(plan.device);
  file.first_step = first_step(plan.region);
  file.last_step = last_step(plan.region);
  file.cut_off = plan.cut_off;
  file.begin = plan.begin;
  file.threads = plan.threads();
  file.buffers = {plan.buffers.size(), [&data, &plan](std::size_t at) { return buffer_of(data, plan.buffers[at]); }};
  file.prologue = plan.prologue;
  file.events = {plan.events.size(), [&plan](std::size_t at) { return event_of(plan.events[at]); }};
  file.expected = plan.facts;
  file.notes = plan.notes;
  return file;
}

ReproduceView reproduce_view(const std::string& path, const analyzer::Analysis& analysis,
                             const std::vector<Replay>& replays) {
  ReproduceView view{path, analysis.facts.rank, {}};
  for (const Replay& replay : replays) view.replays.push_back(view_of(replay));
  return view;
}

}  // namespace dcmt::model
