#include "analyzer/rules/remarks.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/releases/late.h"
#include "analyzer/releases/what_if.h"

namespace dcmt::analyzer {
namespace {

/// Counts releases and their parameters.
class OfReleases {
 public:
  void add(const ReleaseRow& row) {
    ++count_;
    keys_.insert(row.key());
  }
  void append(RemarkKind kind, std::vector<Remark>& all) const {
    if (count_ > 0) all.push_back({kind, count_, static_cast<std::int64_t>(keys_.size()), 0, {}});
  }

 private:
  std::int64_t count_ = 0;
  std::set<Key> keys_;
};

void add_pools(const Releases& releases, std::vector<Remark>& all) {
  for (const Pool& pool : releases.pools) {
    all.push_back({RemarkKind::kPool, static_cast<std::int64_t>(pool.storages.size()), 0, pool.releases, pool.bytes()});
  }
}

void add_stays_gathered(const TraceData& data, const Releases& releases, std::vector<Remark>& all) {
  std::map<Key, Bytes> largest;
  Remark remark{RemarkKind::kStaysGathered, 0, 0, 0, {}};
  for (const rules::LeftGathered& left : rules::left_gathered(data, releases)) {
    if (left.because != rules::LeftBecause::kNoBackward) continue;
    ++remark.count;
    Bytes& bytes = largest[left.item.key];
    bytes = std::max(bytes, left.item.bytes);
  }
  if (remark.count == 0) return;
  remark.parameters = static_cast<std::int64_t>(largest.size());
  for (const auto& [key, bytes] : largest) remark.bytes.value += bytes.value;
  all.push_back(remark);
}

/// Those that raise most peaks are a finding.
void add_late(const TraceData& data, const Releases& releases, std::vector<Remark>& all) {
  std::map<ThreadId, std::vector<const ReleaseRow*>> by_thread;
  for (const ReleaseRow* row : late_releases(releases)) {
    if (!row->residual) by_thread[row->let_go_by].push_back(row);
  }
  const std::vector<StringId> devices = by_thread.empty() ? std::vector<StringId>() : devices_of(data);
  for (const auto& [thread, rows] : by_thread) {
    OfReleases of;
    Remark late;
    for (const ReleaseRow* row : rows) {
      of.add(*row);
      late.longest = std::max(late.longest, TimeNs(row->gone->ns().value - row->at_ns().value));
    }
    const std::vector<Gap> gaps = gaps_while_held(data, rows);
    for (const StringId device : devices)
      late.bytes.value += bytes_in_gaps(gaps, device, peak_of(data, device).seq).value;
    of.append(RemarkKind::kLate, all);
    all.back().bytes = late.bytes;
    all.back().longest = late.longest;
    all.back().holder = describe_thread(data, thread);
  }
}

void add_uses_left(const Releases& releases, std::vector<Remark>& all) {
  OfReleases of;
  for (const Cycle& cycle : releases.cycles) {
    if (cycle.releases.empty() || cycle.next_gather == nullptr) continue;
    const ReleaseRow& last = *cycle.releases.back();
    const bool another = cycle.next_gather->cycle > last.mark->cycle;
    const bool final = std::any_of(cycle.releases.begin(), cycle.releases.end(), [](const ReleaseRow* row) {
      return row->mark->flags.final || row->mark->flags.persistent || row->mark->flags.unwound;
    });
    if (another && !final) of.add(last);
  }
  of.append(RemarkKind::kUsesLeft, all);
}

}  // namespace

std::string_view name_of(RemarkKind kind) {
  switch (kind) {
    case RemarkKind::kPool:
      return "pool";
    case RemarkKind::kStaysGathered:
      return "stays_gathered";
    case RemarkKind::kLate:
      return "late";
    case RemarkKind::kUsesLeft:
      return "uses_left";
    case RemarkKind::kUntracked:
      return "untracked";
    case RemarkKind::kFirstMissed:
      return "first_missed";
    case RemarkKind::kKept:
      return "kept";
    case RemarkKind::kGrows:
      return "grows";
    case RemarkKind::kGrowsUnfollowed:
      return "grows_unfollowed";
    case RemarkKind::kStepsInTurn:
      return "steps_in_turn";
    case RemarkKind::kSetting:
      return "setting";
    case RemarkKind::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<Remark> remarks(const TraceData& data, const Releases& releases) {
  std::vector<Remark> all;
  add_pools(releases, all);
  add_stays_gathered(data, releases, all);
  add_late(data, releases, all);
  add_uses_left(releases, all);
  OfReleases untracked;
  OfReleases first_missed;
  OfReleases unknown;
  for (const ReleaseRow& row : releases.rows) {
    if (row.verdict == Verdict::kUntracked) untracked.add(row);
    if (row.verdict == Verdict::kNoGather) first_missed.add(row);
    if (row.verdict == Verdict::kUnknown && row.lost) unknown.add(row);
  }
  untracked.append(RemarkKind::kUntracked, all);
  first_missed.append(RemarkKind::kFirstMissed, all);
  unknown.append(RemarkKind::kUnknown, all);
  return all;
}

}  // namespace dcmt::analyzer
