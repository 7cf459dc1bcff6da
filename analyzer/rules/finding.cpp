#include "analyzer/rules/finding.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/storages/origins.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

std::int64_t Finding::keys() const {
  std::set<Key> keys;
  for (const FindingItem& item : items) keys.insert(item.key);
  return static_cast<std::int64_t>(keys.size());
}

std::int64_t Finding::steps() const {
  std::set<const Step*> steps;
  for (const FindingItem& item : items) {
    if (item.step != nullptr) steps.insert(item.step);
  }
  return static_cast<std::int64_t>(steps.size());
}

std::optional<Bytes> Finding::bytes_each() const {
  if (items.empty()) return std::nullopt;
  const bool same = std::all_of(items.begin(), items.end(),
                                [&](const FindingItem& item) { return item.bytes == items.front().bytes; });
  return same ? std::optional(items.front().bytes) : std::nullopt;
}

std::string_view name_of(PredictedAs predicted) {
  switch (predicted) {
    case PredictedAs::kLeast:
      return "least";
    case PredictedAs::kMost:
      return "most";
    case PredictedAs::kAbout:
      return "about";
    case PredictedAs::kValue:
      break;
  }
  return "value";
}

std::string_view name_of(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kPartial:
      return "partial";
    case Confidence::kUnknown:
      break;
  }
  return "unknown";
}

namespace {

void add_launches(const std::optional<LaunchCoverage>& of_item, std::optional<LaunchCoverage>& all) {
  if (!of_item) return;
  if (!all) {
    all = of_item;
    return;
  }
  if (of_item->counts.calls >= all->counts.calls) all->counts = of_item->counts;
  all->whole = all->whole && of_item->whole;
}

}  // namespace

FindingItem item_of_release(const ReleaseRow& row) {
  FindingItem item;
  item.key = row.key();
  item.storage = row.mark->storage;
  item.since = row.at();
  item.since_ns = row.at_ns();
  item.step = row.step;
  item.gather = row.gather;
  item.release = row.mark;
  item.row = &row;
  item.gone = row.gone;
  if (row.gone) {
    item.until = row.gone->seq();
    item.until_ns = row.gone->ns();
  }
  return item;
}

std::set<StorageId> growing_storages(const std::vector<Finding>& findings) {
  std::set<StorageId> storages;
  for (const Finding& finding : findings) {
    if (!finding.growth) continue;
    for (const GrowingStorage& each : finding.growth->storages) storages.insert(each.storage);
  }
  return storages;
}

void complete_from_items(const TraceData& data, Finding& finding) {
  const TimeNs end = last_ns(data);
  Origins origins(data);
  std::set<std::string> gathered_by;
  const auto tried = [&](const Mark* mark) { return origins.is_trial(*mark); };
  finding.trial = !finding.items.empty();
  std::map<Key, Bytes> largest;
  for (const FindingItem& item : finding.items) {
    Bytes& bytes = largest[item.key];
    bytes = std::max(bytes, item.bytes);
    if (item.gather != nullptr) gathered_by.insert(origins.of(*item.gather));
    finding.trial = finding.trial && item.gather != nullptr && tried(item.gather) &&
                    std::all_of(item.reads.begin(), item.reads.end(), tried);
    const TimeNs until = item.until.valid() ? item.until_ns : end;
    const std::int64_t ns = std::max<std::int64_t>(0, until.value - item.since_ns.value);
    finding.byte_seconds += static_cast<double>(item.bytes.value) * static_cast<double>(ns) * 1e-9;
    const auto by_kernels =
        std::count_if(item.reads.begin(), item.reads.end(), [](const Mark* read) { return read->flags.kernel; });
    finding.kernel_reads += by_kernels;
    finding.reads += static_cast<std::int64_t>(item.reads.size()) - by_kernels;
    for (const Mark* mark : {item.gather, item.release}) {
      if (mark != nullptr) finding.evidence.marks.push_back(mark->id);
    }
    for (const Mark* read : item.reads) finding.evidence.marks.push_back(read->id);
    if (item.row == nullptr) continue;
    if (item.row->operators_held.at_least >= finding.coverage.at_least) finding.coverage = item.row->operators_held;
    add_launches(item.row->launches(), finding.launches);
  }
  finding.origins.assign(gathered_by.begin(), gathered_by.end());
  for (const auto& [key, bytes] : largest) finding.bytes.value += bytes.value;
}

}  // namespace dcmt::analyzer
