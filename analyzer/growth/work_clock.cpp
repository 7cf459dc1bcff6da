#include "analyzer/growth/work_clock.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "analyzer/storages/group_names.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Each time that the sum of a device's small blocks fell.
std::vector<Sequence> ends_of_small_blocks(const TraceData& data, Sequence end) {
  std::vector<Sequence> ends;
  std::map<StringId, Bytes> latest;  // by device
  for (const auto& [from, block] : data.blocks_by_begin) {
    if (from > end || !is_sum_of_small_blocks(data, *block)) continue;
    Bytes& before = latest[block->device];
    if (block->bytes < before) ends.push_back(from);
    before = block->bytes;
  }
  return ends;
}

/// The births of large storages before which something has ended since the one before.
std::vector<Sequence> births_after(const TraceData& data, Sequence end, const std::vector<Sequence>& ends) {
  std::vector<Sequence> births;
  for (const Storage& storage : data.storages) {
    if (storage.bytes.value >= kFollowedBytes && storage.span.from_seq <= end) births.push_back(storage.span.from_seq);
  }
  std::ranges::sort(births);
  std::vector<Sequence> after;
  auto next = ends.begin();
  for (const Sequence birth : births) {
    const auto until = std::lower_bound(next, ends.end(), birth);
    if (until != next) after.push_back(birth);
    next = until;
  }
  return after;
}

}  // namespace

WorkClock::WorkClock(const TraceData& data, Sequence end, const std::vector<Sequence>& turns, Work counted)
    : end_(end) {
  for (const Storage& storage : data.storages) {
    if (counted != Work::kTurnsOnly && storage.bytes.value > 0 && storage.span.ended() && storage.span.to_seq <= end)
      ticks_.push_back(storage.span.to_seq);
  }
  std::ranges::copy_if(turns, std::back_inserter(ticks_), [end](Sequence turn) { return turn <= end; });
  if (counted == Work::kSmallToo || counted == Work::kLargeMade)
    std::ranges::copy(ends_of_small_blocks(data, end), std::back_inserter(ticks_));
  std::ranges::sort(ticks_);
  if (counted == Work::kLargeMade) ticks_ = births_after(data, end, ticks_);
  double without = 0;
  for (const Interval& interval : data.intervals) {
    if (interval.kept != Kept::kNo) continue;
    const Sequence to = interval.span.ended() ? std::min(interval.span.to_seq, end) : end;
    if (to <= interval.span.from_seq) continue;
    unrecorded_.push_back({interval.span.from_seq, to, without});
    without += static_cast<double>(to.value - interval.span.from_seq.value);
  }
  const double with = static_cast<double>(end.value) - without;
  if (with > 0) rate_ = static_cast<double>(ticks_.size()) / with;
}

double WorkClock::unrecorded_before(Sequence seq) const {
  const auto after = std::ranges::upper_bound(unrecorded_, seq, {}, &Unrecorded::from);
  if (after == unrecorded_.begin()) return 0;
  const Unrecorded& last = *std::prev(after);
  return last.before + static_cast<double>(std::min(seq, last.to).value - last.from.value);
}

double WorkClock::at(Sequence seq) const {
  const auto ticks = static_cast<double>(std::ranges::upper_bound(ticks_, seq) - ticks_.begin());
  return ticks + rate_ * unrecorded_before(seq);
}

}  // namespace dcmt::analyzer
