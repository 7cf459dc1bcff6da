#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/devices/stream_races.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer::rules {
namespace {

constexpr std::string_view kWhyOfUse =
    "the allocator knows only the stream that a block was allocated for: when it is freed, that stream gets the memory "
    "at once. Neither an event nor the host orders the use on the other stream before the next one";
constexpr std::string_view kFixOfUse =
    "x.record_stream(s) where stream s uses it, or let the stream that it was allocated for wait before x is dropped: "
    "torch.cuda.current_stream().wait_stream(s)";
constexpr std::string_view kWhyOfNextUse =
    "the stream that the memory was allocated for may still work on what was freed there. The stream that uses it next "
    "does not wait for that one";
constexpr std::string_view kFixOfNextUse =
    "after the allocation, and before stream s uses it: s.wait_stream(torch.cuda.current_stream()); or allocate it "
    "under torch.cuda.stream(s)";

InFlightEvent event_of(const TraceData& data, RunPoint at, const Actor& by) {
  InFlightEvent event;
  event.at = at;
  event.site = describe_site(data, by.stack);
  event.stack = frames_of(data, by.stack);
  if (const Operator* op = named_operator(data, by.op)) event.by = data.text(op->name);
  return event;
}

InFlightEvent use_of(const TraceData& data, const StreamCall& call) {
  InFlightEvent event = event_of(data, {call.seq, call.ns}, call.by);
  event.name = text_of(data, call.name);
  event.stream = call.stream;
  return event;
}

InFlightEvent birth_of(const TraceData& data, const Block& block) {
  InFlightEvent event = event_of(data, {block.span.from_seq, block.span.from_ns}, block.birth);
  event.stream = block.stream;
  return event;
}

/// What makes cases alike: which call is missing, where the block was allocated, where it was used.
using Places = std::tuple<bool, FrameId, FrameId>;

Places places_of(const TraceData& data, const StreamRace& race) {
  const StreamCall& culprit = race.is_of_use() ? *race.use : *race.next_use;
  const Block& block = race.is_of_use() ? *race.block : *race.next;
  return {race.is_of_use(), site_of(data, block.birth.stack), site_of(data, culprit.by.stack)};
}

Finding finding_of(const TraceData& data, const std::vector<const StreamRace*>& races) {
  const StreamRace& first = *races.front();
  Finding finding;
  finding.rule = "reused_in_flight";
  finding.title = "reused in flight";
  finding.classes.emplace_back("D25");
  finding.device = first.block->device;
  finding.why = first.is_of_use() ? kWhyOfUse : kWhyOfNextUse;
  finding.fix = first.is_of_use() ? kFixOfUse : kFixOfNextUse;
  const bool is_certain = std::ranges::any_of(
      races, [](const StreamRace* race) { return !race->use->may_not_use && !race->next_use->may_not_use; });
  finding.confidence = is_certain ? Confidence::kCertain : Confidence::kPartial;
  ReusedInFlight reused;
  std::set<BlockId> blocks;
  for (const StreamRace* race : races) {
    blocks.insert(race->block->id);
    finding.bytes = std::max(finding.bytes, race->block->bytes);
  }
  reused.times = static_cast<std::int64_t>(races.size());
  reused.blocks = static_cast<std::int64_t>(blocks.size());
  reused.missing = first.is_of_use() ? ReusedInFlight::kRecordStream : ReusedInFlight::kWaitStream;
  reused.block = first.block->id;
  reused.next_block = first.next->id;
  reused.bytes = first.block->bytes;
  reused.allocated = birth_of(data, *first.block);
  reused.used = use_of(data, *first.use);
  reused.freed = event_of(data, {first.block->span.to_seq, first.block->span.to_ns}, first.block->end);
  reused.allocated_again = birth_of(data, *first.next);
  reused.used_again = use_of(data, *first.next_use);
  reused.born = (first.is_of_use() ? first.block : first.next)->birth.stack;
  reused.misused = (first.is_of_use() ? first.use : first.next_use)->by.stack;
  finding.in_flight = std::move(reused);
  return finding;
}

}  // namespace

std::vector<Finding> reused_in_flight(const TraceData& data, const Releases& /*releases*/) {
  const StreamRaces found = stream_races(data);
  std::map<Places, std::vector<const StreamRace*>> groups;
  for (const StreamRace& race : found.races) groups[places_of(data, race)].push_back(&race);
  std::vector<Finding> findings;
  for (const auto& [places, races] : groups) findings.push_back(finding_of(data, races));
  std::ranges::sort(findings, {}, [](const Finding& finding) { return finding.in_flight->used_again.at.seq; });
  return findings;
}

}  // namespace dcmt::analyzer::rules
