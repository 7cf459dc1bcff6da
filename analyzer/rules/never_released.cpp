#include <algorithm>
#include <map>
#include <string>

#include "analyzer/rules/rules.h"
#include "analyzer/storages/origins.h"
#include "analyzer/storages/stacks.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer::rules {
namespace {

bool finally_released(const Cycle& cycle) {
  return std::any_of(cycle.releases.begin(), cycle.releases.end(),
                     [](const ReleaseRow* row) { return row->mark->flags.final || row->mark->flags.persistent; });
}

bool ended_by_itself(const TraceData& data) { return data.meta_text(meta::kExit).starts_with("exit"); }

/// The moment by which a release should have come; nullopt if the program was cut off before it.
std::optional<Sequence> due(const TraceData& data, const std::vector<Step>& steps, const Cycle& cycle,
                            Sequence work_end) {
  const Step* step = step_at(steps, cycle.gather->span.from_seq);
  if (step != nullptr && step->to.valid()) return step->to;
  if (cycle.next_gather != nullptr) return cycle.next_gather->span.from_seq;
  return ended_by_itself(data) ? std::optional(work_end) : std::nullopt;
}

std::optional<FindingItem> judge(const TraceData& data, const std::vector<Step>& steps, const Cycle& cycle,
                                 Sequence work_end) {
  if (cycle.persistent || finally_released(cycle)) return std::nullopt;
  const Mark* given = cycle.waits.empty() ? cycle.gather : cycle.waits.back();
  const Storage* storage = data.storages.find(given->storage);
  const std::optional<Sequence> end = due(data, steps, cycle, work_end);
  if (storage == nullptr || !end) return std::nullopt;
  const Bytes bytes = bytes_at(data, *storage, given->span.from_seq);
  const std::optional<Gone> gone = first_gone(data, *storage, given->span.from_seq);
  if (bytes.value == 0 || (gone && gone->seq <= *end)) return std::nullopt;
  FindingItem item;
  item.key = cycle.key;
  item.storage = storage->id;
  item.bytes = bytes;
  item.since = cycle.gather->span.from_seq;
  item.since_ns = cycle.gather->span.from_ns;
  if (gone) {
    item.until = gone->seq;
    item.until_ns = gone->ns;
  }
  item.step = step_at(steps, cycle.gather->span.from_seq);
  item.gather = cycle.gather;
  item.gone = gone;
  if (!cycle.releases.empty()) {
    item.row = cycle.releases.back();
    item.release = item.row->mark;
  }
  return item;
}

/// What makes two gathers alike.
struct Alike {
  std::string origin;
  StringId device, gather_operator;
  FrameId site;
  bool counted = false;                                           ///< released at times, but never finally
  friend auto operator<=>(const Alike&, const Alike&) = default;  // NOLINT(modernize-use-nullptr)
};

}  // namespace

std::vector<Finding> never_released(const TraceData& data, const Releases& releases) {
  std::map<Alike, Finding> groups;
  Origins origins(data);
  const Operator* last = last_operator(data);
  const Sequence work_end = last != nullptr ? end_of(*last) : last_sequence(data);
  for (const Cycle& cycle : releases.cycles) {
    std::optional<FindingItem> item = judge(data, releases.steps, cycle, work_end);
    if (!item) continue;
    const Alike key{origins.of(*cycle.gather), device_of(data, item->storage), cycle.gather->name,
                    site_of(data, cycle.gather->by.stack), item->release != nullptr};
    groups[key].items.push_back(std::move(*item));
  }
  std::vector<Finding> findings;
  for (auto& [key, finding] : groups) {
    std::stable_sort(finding.items.begin(), finding.items.end(),
                     [](const FindingItem& a, const FindingItem& b) { return a.since < b.since; });
    finding.rule = "never_released";
    finding.title = "gathered, never released";
    finding.classes.emplace_back("D16");
    finding.confidence = Confidence::kCertain;
    complete_from_items(data, finding);
    finding.why = key.counted ? "the use count never came to zero: fewer releases ran than were declared"
                              : "no release of the parameter ran before the end of the step";
    finding.fix = key.counted
                      ? "declare as many uses as there are releases"
                      : "release the parameter after its last use, or sweep what is left before the next forward";
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules
