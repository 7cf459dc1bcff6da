#include "analyzer/model/releases.h"

#include "analyzer/storages/parameters.h"

namespace dcmt::model {

using analyzer::ReleaseRow;
using analyzer::Verdict;

std::optional<LastTouch> Release::last_touch() const {
  const analyzer::Mark* touch = row_->last_touch();
  if (touch == nullptr) return std::nullopt;
  return LastTouch{text_of(*data_, touch->name), touch->value,
                   TimeNs(touch->span.to_ns.value - touch->span.from_ns.value)};
}

std::string Release::graph_name() const {
  return row_->key().graph < 0 ? analyzer::describe_graph(*data_, row_->key().graph)
                               : std::to_string(row_->key().graph);
}

GoneWhen Release::gone_when() const {
  if (!final() || persistent()) return GoneWhen::kNotAsked;
  if (!row_->gone) return row_->mark->bytes_after == Bytes(0) ? GoneWhen::kAtOnce : GoneWhen::kNotToTheEnd;
  return row_->gone->seq() <= row_->at() ? GoneWhen::kAtOnce : GoneWhen::kLater;
}

void VerdictCounts::add(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFreed:
      ++freed;
      break;
    case Verdict::kLate:
      ++late;
      break;
    case Verdict::kNever:
      ++never;
      break;
    case Verdict::kEarly:
      ++early;
      break;
    case Verdict::kCounted:
      ++counted;
      break;
    case Verdict::kPersistent:
      ++persistent;
      break;
    case Verdict::kNoGather:
      ++no_gather;
      break;
    case Verdict::kShared:
      ++shared;
      break;
    case Verdict::kRecycled:
      ++recycled;
      break;
    case Verdict::kUntracked:
      ++untracked;
      break;
    case Verdict::kUnknown:
      ++unknown;
      break;
  }
}

Range<Release> releases_of(const TraceData& data, const analyzer::Releases& releases) {
  return {releases.rows.size(), [&data, &rows = releases.rows](std::size_t at) { return Release(data, rows[at]); }};
}

Range<Cycle> cycles_of(const TraceData& data, const analyzer::Releases& releases) {
  return {releases.cycles.size(), [&data, &cycles = releases.cycles](std::size_t at) {
            const analyzer::Cycle& cycle = cycles[at];
            Cycle result{cycle.key(),
                         cycle.number,
                         mark_of(data, *cycle.gather),
                         static_cast<std::int64_t>(cycle.waits.size()),
                         cycle.persistent,
                         {}};
            for (const ReleaseRow* row : cycle.releases) {
              result.releases.push_back({row->mark->id, row->mark->remaining, row->verdict});
            }
            return result;
          }};
}

Totals totals_of(const analyzer::Releases& releases) {
  Totals totals;
  for (const ReleaseRow& row : releases.rows) {
    ++totals.total;
    totals.add(row.verdict);
    totals.residual += row.residual ? 1 : 0;
    totals.metadata_only += row.metadata_only ? 1 : 0;
  }
  return totals;
}

FinalReleases final_releases_of(const analyzer::Releases& releases) {
  FinalReleases result;
  for (const ReleaseRow& row : releases.rows) {
    if (!row.mark->flags.final || row.mark->flags.persistent || row.mark->flags.no_gather) continue;
    ++result.total;
    result.freed += row.verdict == Verdict::kFreed ? 1 : 0;
    result.recycled += row.verdict == Verdict::kRecycled ? 1 : 0;
    result.not_known += row.verdict == Verdict::kUntracked || row.verdict == Verdict::kUnknown ? 1 : 0;
  }
  return result;
}

}  // namespace dcmt::model
