#include "cli/plan_json.h"

#include <map>

#include "cli/json_values.h"

namespace dcmt::cli {
namespace {

using analyzer::Finding;
using analyzer::kNoStream;
using analyzer::kNoThread;
using analyzer::name_of;
using analyzer::ReleaseFacts;
using analyzer::ReplayBuffer;
using analyzer::ReplayDo;
using analyzer::ReplayEvent;
using analyzer::ReplayFacts;
using analyzer::ReplayHolder;
using analyzer::ReplayPlan;
using analyzer::ReplayRegion;
using analyzer::TraceData;
using analyzer::Verdict;

Json first_step(const ReplayRegion& region) {
  return region.steps.empty() ? Json() : Json(region.steps.front().number);
}
Json last_step(const ReplayRegion& region) { return region.steps.empty() ? Json() : Json(region.steps.back().number); }

Json buffer_json(const TraceData& data, const ReplayBuffer& buffer) {
  Json holders = Json::array();
  for (const ReplayHolder& holder : buffer.holders) {
    holders.push_back({{"kind", name_of(holder.kind)}, {"name", holder.name}, {"function", holder.function}});
  }
  return {{"graph", buffer.key.graph},
          {"key", buffer.key.key},
          {"id", buffer.id},
          {"storage", buffer.storage.value},
          {"bytes", buffer.bytes.value},
          {"dtype", text_json(data, buffer.dtype)},
          {"stream", buffer.stream == kNoStream ? Json() : Json(buffer.stream)},
          {"persistent", buffer.persistent},
          {"shares", optional_json(buffer.shares)},
          {"holders", std::move(holders)},
          {"unnamed", buffer.unnamed}};
}

Json value_of(const ReplayEvent& event) {
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
      return {};
  }
}

bool is_of_buffer(ReplayDo what) {
  return what != ReplayDo::kLevel && what != ReplayDo::kMemory && what != ReplayDo::kStep &&
         what != ReplayDo::kOperator;
}

Json event_json(const ReplayEvent& event) {
  return {{"do", name_of(event.what)},
          {"at", event.at.value},
          {"thread", event.thread == kNoThread ? Json() : Json(event.thread.value)},
          {"buffer", is_of_buffer(event.what) ? Json(event.buffer) : Json()},
          {"value", value_of(event)},
          {"again", event.again},
          {"inside_release", event.inside_release},
          {"clears_tensor_only", event.clears_tensor_only}};
}

Json release_json(const ReleaseFacts& release) {
  return {{"key", key_json(release.key)},
          {"storage", release.storage.valid() ? Json(release.storage.value) : Json()},
          {"verdict", name_of(release.verdict)},
          {"residual", release.residual},
          {"bytes_before", bytes_json(release.bytes_before)},
          {"bytes_after", bytes_json(release.bytes_after)},
          {"bytes_settled", bytes_json(release.bytes_settled)},
          {"allocated_bytes", release.allocated.value},
          {"reads", release.reads},
          {"holder_kinds", release.holder_kinds}};
}

Json facts_json(const ReplayFacts& facts) {
  Json releases = Json::array();
  for (const ReleaseFacts& release : facts.releases) releases.push_back(release_json(release));
  return {{"releases", std::move(releases)},
          {"peak_bytes", facts.peak.value},
          {"predicted_peak_bytes", bytes_json(facts.predicted_peak)}};
}

Json verdicts_json(const ReplayFacts& facts) {
  Json counts = Json::object();
  for (const Verdict verdict :
       {Verdict::kFreed, Verdict::kLate, Verdict::kNever, Verdict::kEarly, Verdict::kCounted, Verdict::kPersistent,
        Verdict::kShared, Verdict::kRecycled, Verdict::kUntracked, Verdict::kUnknown}) {
    std::int64_t count = 0;
    for (const ReleaseFacts& release : facts.releases) count += release.verdict == verdict ? 1 : 0;
    counts[std::string(name_of(verdict))] = count;
  }
  return counts;
}

Json replay_json(const Replay& replay) {
  Json findings = Json::array();
  for (const Finding* finding : replay.findings) findings.push_back(finding->number);
  Json difference;
  if (replay.difference) {
    difference = {{"release", optional_json(replay.difference->release)},
                  {"what", replay.difference->what},
                  {"recorded", replay.difference->recorded},
                  {"replayed", replay.difference->replayed}};
  }
  const bool compared = replay.switches.empty();
  return {{"findings", std::move(findings)},
          {"first_step", first_step(replay.plan.region)},
          {"last_step", last_step(replay.plan.region)},
          {"events", replay.plan.events.size()},
          {"buffers", replay.plan.buffers.size()},
          {"switches", replay.switches},
          {"reproduced", compared ? Json(!replay.difference) : Json()},
          {"difference", std::move(difference)},
          {"releases", replay.plan.facts.releases.size()},
          {"recorded_verdicts", verdicts_json(replay.plan.facts)},
          {"replayed_verdicts", verdicts_json(replay.facts)},
          {"recorded_peak_bytes", replay.plan.facts.peak.value},
          {"predicted_peak_bytes", bytes_json(replay.plan.facts.predicted_peak)},
          {"replayed_peak_bytes", replay.facts.peak.value},
          {"notes", replay.plan.notes}};
}

}  // namespace

Json plan_json(const LoadedTrace& trace, const ReplayPlan& plan) {
  Json threads = Json::array();
  for (const ThreadId thread : plan.threads()) threads.push_back(thread.value);
  Json buffers = Json::array();
  for (const ReplayBuffer& buffer : plan.buffers) buffers.push_back(buffer_json(*trace.data, buffer));
  Json events = Json::array();
  for (const ReplayEvent& event : plan.events) events.push_back(event_json(event));
  return {{"version", kJsonVersion},
          {"trace", trace.path},
          {"device", std::string(trace.data->text(plan.device))},
          {"first_step", first_step(plan.region)},
          {"last_step", last_step(plan.region)},
          {"cut_off", plan.cut_off},
          {"begin_bytes", plan.begin.value},
          {"threads", std::move(threads)},
          {"buffers", std::move(buffers)},
          {"prologue", plan.prologue},
          {"events", std::move(events)},
          {"expected", facts_json(plan.facts)},
          {"notes", plan.notes}};
}

Json reproduce_json(const LoadedTrace& trace, const std::vector<Replay>& replays) {
  Json list = Json::array();
  for (const Replay& replay : replays) list.push_back(replay_json(replay));
  return {{"path", trace.path}, {"rank", trace.analysis.facts.rank}, {"replays", std::move(list)}};
}

}  // namespace dcmt::cli
