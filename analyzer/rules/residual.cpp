#include <algorithm>
#include <map>
#include <string>

#include "analyzer/releases/late.h"
#include "analyzer/rules/grouped.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/origins.h"

namespace dcmt::analyzer::rules {
namespace {

/// Residual releases with equal values are one finding. A release without a census joins those of the same parameter.
struct ResidualKey {
  std::string origin;
  StringId device, release_operator, function, file;
  ThreadId late = kNoThread;  ///< the thread of late releases
  bool inspected = false, generated_local = false;
  bool explained = false;  ///< where no variable was found: the counts say whether something else holds it
  friend auto operator<=>(const ResidualKey&, const ResidualKey&) = default;  // NOLINT(modernize-use-nullptr)
};

bool has_generated_local(const HolderPath& path) { return path.generated && path.kept_to_return(); }

ResidualKey alike(const TraceData& data, Origins& origins, const ReleaseRow& row) {
  ResidualKey key;
  key.device = device_of(data, row.mark->storage);
  if (row.gather != nullptr) key.origin = origins.of(*row.gather);
  key.release_operator = row.mark->name;
  if (row.let_go_by != kNoThread) {
    // That it held them follows from its free, whatever a census of the variables has found.
    key.late = row.let_go_by;
    return key;
  }
  const Holders* holders = row.holders();
  if (holders == nullptr) return key;
  key.inspected = true;
  if (holders->paths.empty()) {
    key.explained = holders->unexplained() == 0;
    return key;
  }
  const HolderPath& path = holders->paths.front();
  key.function = path.function_id;
  key.file = path.file_id;
  key.generated_local = has_generated_local(path);
  return key;
}

FindingItem residual_item(const ReleaseRow& row) {
  FindingItem item = item_of_release(row);
  item.bytes = row.bytes_left();
  if (const Holders* holders = row.holders())
    item.confidence = holders->certain() ? Confidence::kCertain : Confidence::kPartial;
  return item;
}

std::string why_of(const TraceData& data, const ResidualKey& key, const Finding& finding) {
  if (key.late != kNoThread)
    return describe_thread(data, key.late) + " still held the storages, and raises the peak of most steps by that";
  if (!key.inspected) return "no census was taken at these releases: who holds the storages is not known";
  if (key.generated_local) {
    return "the compiled wrapper does not delete that name before it returns (typical of never-reuse operators)";
  }
  if (key.function.valid()) return "a variable of " + std::string(data.text(key.function)) + " still names the tensor";
  if (finding.unexplained > 0) return "something that the census does not see holds a reference";
  return "tensors on the storage are alive, but no variable names them";
}

std::string fix_of(const ResidualKey& key) {
  if (key.late != kNoThread) return "let that thread drop its reference before the release, or wait for it";
  if (key.generated_local || !key.function.valid()) return "resize the storage to 0 at the final release";
  return "drop the variable before the release, or resize the storage to 0 at the final release";
}

void add_holders(Finding& finding) {
  for (const FindingItem& item : finding.items) {
    const Holders* holders = item.row->holders();
    if (holders == nullptr) continue;
    ++finding.censuses;
    if (!finding.holders) {
      finding.holders = *holders;
    } else {
      ++finding.more_alike;
    }
    finding.evidence.marks.push_back(holders->census->id);
    finding.evidence.edges.insert(finding.evidence.edges.end(), holders->edges.begin(), holders->edges.end());
    for (const Count& count : holders->counts) {
      finding.explained += count.explained;
      finding.unexplained += count.unexplained;
      finding.evidence.samples.push_back(count.sample);
    }
  }
  // Without a census of a release, its storage's holder is unknown, even if another census found one.
  const bool certain = std::all_of(finding.items.begin(), finding.items.end(),
                                   [](const FindingItem& item) { return item.confidence == Confidence::kCertain; });
  if (finding.censuses > 0) finding.confidence = certain ? Confidence::kCertain : Confidence::kPartial;
}

}  // namespace

std::vector<Finding> residual(const TraceData& data, const Releases& releases) {
  // A read after the release means that the release is too early, not that the storage is kept too long: see
  // use_after_release.
  Origins origins(data);
  std::vector<const ReleaseRow*> rows;
  std::map<Key, ResidualKey> known;
  for (const ReleaseRow* row : releases.residual()) {
    if (!row->reads().empty()) continue;
    rows.push_back(row);
    if (row->holders() != nullptr && row->let_go_by == kNoThread)
      known.try_emplace(row->key(), alike(data, origins, *row));
  }
  Grouped<ResidualKey> groups;
  for (const ReleaseRow* row : rows) {
    ResidualKey key = alike(data, origins, *row);
    if (!key.inspected && key.late == kNoThread) {
      if (const auto same = known.find(row->key()); same != known.end() &&
                                                    same->second.release_operator == key.release_operator &&
                                                    same->second.origin == key.origin) {
        key = same->second;
      }
    }
    groups.add(key, residual_item(*row));
  }
  return groups.extract([&](const ResidualKey& key, Finding& finding) {
    finding.rule = "residual";
    finding.title = key.late != kNoThread ? "freed late" : "release keeps storage";
    finding.classes.emplace_back("D19");
    if (key.generated_local) finding.classes.emplace_back("D20");
    complete_from_items(data, finding);
    add_holders(finding);
    finding.why = why_of(data, key, finding);
    finding.fix = fix_of(key);
  });
}

}  // namespace dcmt::analyzer::rules
