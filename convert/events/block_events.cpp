#include "convert/events/block_events.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dcmt::convert {
namespace {

using analyzer::Block;
using analyzer::StreamWait;
using analyzer::TraceData;

constexpr std::size_t kEventsBetweenChecks = 1 << 14;  // between checks of the watch

}  // namespace

Status for_each_block_event(const TraceData& data, const analyzer::Watch& watch,
                            const std::function<Status(const BlockEvent&)>& visit) {
  std::vector<StreamWait> done;
  for (const StreamWait& wait : data.stream_waits) {
    if (wait.done.valid()) done.push_back(wait);
  }
  std::ranges::sort(done, {}, &StreamWait::done);
  auto birth = data.blocks_by_begin.begin();
  auto end = data.blocks_by_end.begin();
  auto wait = done.begin();
  const auto none = Sequence(std::numeric_limits<std::int64_t>::max());
  for (std::size_t count = 0;; ++count) {
    if (count % kEventsBetweenChecks == 0) {
      DCMT_RETURN_IF_ERROR(watch.check());
      watch.done(static_cast<double>(count) / static_cast<double>(2 * data.blocks.size() + done.size() + 1));
    }
    const Sequence born = birth != data.blocks_by_begin.end() ? birth->first : none;
    const Sequence freed = end != data.blocks_by_end.end() ? end->first : none;
    const Sequence through = wait != done.end() ? wait->done : none;
    const Sequence first = std::min({born, freed, through});
    if (first == none) return {};
    BlockEvent event;
    event.seq = first;
    if (first == freed) {
      event.kind = BlockEventKind::kFree;
      event.block = end->second;
      event.ns = event.block->span.to_ns;
      event.waits = std::ranges::binary_search(data.stream_waits, event.block->id, {}, &StreamWait::block);
      ++end;
    } else if (first == through) {
      event.kind = BlockEventKind::kDone;
      event.block = data.blocks.find(wait->block);
      event.ns = wait->done_ns;
      ++wait;
      if (event.block == nullptr) continue;
    } else {
      event.block = birth->second;
      event.ns = event.block->span.from_ns;
      ++birth;
    }
    DCMT_RETURN_IF_ERROR(visit(event));
  }
}

EventTimes::EventTimes(const TraceData& data)
    : data_(data), begin_(data.blocks_by_begin.begin()), end_(data.blocks_by_end.begin()) {}

TimeNs EventTimes::at(Sequence seq) {
  while (begin_ != data_.blocks_by_begin.end() && begin_->first < seq) ++begin_;
  if (begin_ != data_.blocks_by_begin.end() && begin_->first == seq) return begin_->second->span.from_ns;
  while (end_ != data_.blocks_by_end.end() && end_->first < seq) ++end_;
  if (end_ != data_.blocks_by_end.end() && end_->first == seq) return end_->second->span.to_ns;
  while (interval_ < data_.interval_curves.size() && data_.interval_curves[interval_].span.to_seq < seq) ++interval_;
  if (interval_ == data_.interval_curves.size()) return {};
  const analyzer::IntervalCurve& curve = data_.interval_curves[interval_];
  return seq == curve.span.to_seq ? curve.span.to_ns : curve.peak_ns;
}

}  // namespace dcmt::convert
