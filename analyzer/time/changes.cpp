#include "analyzer/time/changes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace dcmt::analyzer {
namespace {

using What = Change::What;

/// The order at one sequence: first sums, then ends, so that there is no false peak in between.
int rank_of(What what) {
  switch (what) {
    case What::kLevel:
      return 0;
    case What::kEnd:
      return 1;
    case What::kBegin:
      return 2;
    case What::kPoint:
      break;
  }
  return 3;
}

/// The begins or the ends of a device's blocks, in order.
class BlockChanges {
 public:
  BlockChanges(const TraceData& data, StringId device, const RowIndex<Sequence, Block>& blocks, What what)
      : data_(data), device_(device), what_(what), at_(blocks.begin()), end_(blocks.end()) {}

  /// False at the end. `moved`: the change is of an interval without rows, and comes at the end of it.
  bool next(Change& change, bool& moved) {
    for (; at_ != end_; ++at_) {
      const auto& [seq, block] = *at_;
      if (block->device != device_) continue;
      const bool begins = what_ == What::kBegin;
      const Interval* interval = data_.has_sums_only() ? data_.sums_only_at(seq) : nullptr;
      moved = interval != nullptr && interval->span.ended();
      change = {what_, moved ? interval->span.to_seq : seq,
                moved ? interval->span.to_ns : (begins ? block->span.from_ns : block->span.to_ns), block,
                begins ? block->bytes.value : -block->bytes.value};
      ++at_;
      return true;
    }
    return false;
  }

 private:
  using Position = decltype(std::declval<const RowIndex<Sequence, Block>&>().begin());

  const TraceData& data_;
  StringId device_;
  What what_;
  Position at_, end_;
};

/// Bytes of blocks whose changes come at the end of an interval instead of within it.
std::map<Sequence, std::int64_t> moved_bytes(const TraceData& data, StringId device) {
  std::map<Sequence, std::int64_t> moved_by_end;
  if (!data.has_sums_only()) return moved_by_end;
  Change change;
  bool moved = false;
  for (const What what : {What::kBegin, What::kEnd}) {
    BlockChanges changes(data, device, what == What::kBegin ? data.blocks_by_begin : data.blocks_by_end, what);
    while (changes.next(change, moved)) {
      if (moved) moved_by_end[change.seq] += change.delta;
    }
  }
  return moved_by_end;
}

}  // namespace

bool operator<(const Change& a, const Change& b) {
  return std::tuple(a.seq, rank_of(a.what)) < std::tuple(b.seq, rank_of(b.what));
}

void for_each_change(const TraceData& data, StringId device, std::vector<RequestedPoint> points,
                     const std::function<void(const Change&)>& visit) {
  const std::map<Sequence, std::int64_t> moved = moved_bytes(data, device);
  std::vector<Change> others;
  for (const IntervalCurve& curve : data.interval_curves) {
    if (curve.device != device) continue;
    others.push_back({What::kLevel, curve.peak_seq, curve.peak_ns, nullptr, curve.peak.value - curve.begin.value});
    const auto found = moved.find(curve.span.to_seq);
    const std::int64_t of_blocks = found != moved.end() ? found->second : 0;
    others.push_back(
        {What::kLevel, curve.span.to_seq, curve.span.to_ns, nullptr, curve.end.value - curve.peak.value - of_blocks});
  }
  for (const RequestedPoint& point : points) others.push_back({What::kPoint, point.seq, point.ns, nullptr, 0});
  std::stable_sort(others.begin(), others.end());

  BlockChanges begins(data, device, data.blocks_by_begin, What::kBegin);
  BlockChanges ends(data, device, data.blocks_by_end, What::kEnd);
  Change begin;
  Change end;
  bool ignored = false;
  bool begun = begins.next(begin, ignored);
  bool ended = ends.next(end, ignored);
  auto other = others.begin();
  while (begun || ended || other != others.end()) {
    if (other != others.end() && (!begun || *other < begin) && (!ended || *other < end)) {
      visit(*other++);
    } else if (ended && (!begun || end < begin)) {
      visit(end);
      ended = ends.next(end, ignored);
    } else {
      visit(begin);
      begun = begins.next(begin, ignored);
    }
  }
}

}  // namespace dcmt::analyzer
