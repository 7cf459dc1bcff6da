#include "analyzer/curve.h"

#include <algorithm>
#include <map>

namespace dcmt::analyzer {
namespace {

struct Event {
  Sequence seq;
  std::int64_t delta;
  TimeNs ns;
  const Block* block;  ///< of a real allocation
};

void add_gap(const Gap& gap, std::vector<Event>& events) {
  const Span& life = gap.block->span;
  const Sequence from = std::max(gap.from, life.from_seq);
  const bool to_the_end = !gap.to.valid() || (life.ended() && gap.to >= life.to_seq);
  const Sequence to = to_the_end ? life.to_seq : gap.to;
  if (to.valid() && to <= from) return;
  events.push_back({from, -gap.block->bytes.value, {}, nullptr});
  if (to.valid()) events.push_back({to, gap.block->bytes.value, {}, nullptr});
}

/// In an interval without rows, the curve goes to its peak and from there to its end, at once.
void add_sums(const TraceData& data, StringId device, std::vector<Event>& events) {
  for (const IntervalCurve& curve : data.interval_curves) {
    if (curve.device != device) continue;
    events.push_back({curve.peak_seq, curve.peak.value - curve.begin.value, curve.peak_ns, nullptr});
    events.push_back({curve.span.to_seq, curve.end.value - curve.peak.value, curve.span.to_ns, nullptr});
  }
}

std::vector<Event> events_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  std::vector<Event> events;
  events.reserve(2 * data.blocks.size());
  const auto has_rows = [&](Sequence at) { return !data.has_sums_only() || data.sums_only_at(at) == nullptr; };
  for (const Block& block : data.blocks) {
    if (block.device != device || !has_rows(block.span.from_seq)) continue;
    events.push_back({block.span.from_seq, block.bytes.value, block.span.from_ns, &block});
  }
  const auto births = static_cast<std::ptrdiff_t>(events.size());
  for (const Block& block : data.blocks) {
    if (block.device != device || !block.span.ended() || !has_rows(block.span.to_seq)) continue;
    events.push_back({block.span.to_seq, -block.bytes.value, block.span.to_ns, nullptr});
  }
  add_sums(data, device, events);
  for (const Gap& gap : gaps) {
    if (gap.block->device == device) add_gap(gap, events);
  }
  // A gap that ends where its block ends adds and takes the same bytes at one sequence: taken first, no false peak.
  const auto earlier = [](const Event& a, const Event& b) {
    return a.seq != b.seq ? a.seq < b.seq : a.delta < b.delta;
  };
  // Rows are in the order of births, so as a rule half of the events are in order already.
  const auto middle = events.begin() + births;
  if (!std::is_sorted(events.begin(), middle, earlier)) std::sort(events.begin(), middle, earlier);
  std::sort(middle, events.end(), earlier);
  std::inplace_merge(events.begin(), middle, events.end(), earlier);
  return events;
}

}  // namespace

std::vector<StringId> devices_of(const TraceData& data) {
  std::map<StringId, Bytes> peaks;
  StringId last;
  for (const Block& block : data.blocks) {
    if (block.device != last) peaks.try_emplace(last = block.device);
  }
  std::vector<StringId> devices;
  for (auto& [device, bytes] : peaks) {
    if (peaks.size() > 1) bytes = peak_of(data, device).bytes;
    devices.push_back(device);
  }
  std::stable_sort(devices.begin(), devices.end(), [&](StringId a, StringId b) { return peaks[a] > peaks[b]; });
  return devices;
}

std::vector<CurvePoint> allocated_curve(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  std::vector<CurvePoint> points;
  std::int64_t bytes = 0;
  for (const Event& event : events_of(data, device, gaps)) {
    bytes += event.delta;
    if (!points.empty() && points.back().seq == event.seq) {
      points.back().bytes = Bytes(bytes);
    } else {
      points.push_back({event.seq, Bytes(bytes)});
    }
  }
  return points;
}

Peak peak_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  Peak peak;
  peak.device = device;
  std::int64_t bytes = 0;
  for (const Event& event : events_of(data, device, gaps)) {
    bytes += event.delta;
    // What would have been freed between the windows is not known, so there is nothing to predict.
    if (bytes <= peak.bytes.value || (!gaps.empty() && data.sums_only_at(event.seq) != nullptr)) continue;
    peak.bytes = Bytes(bytes);
    peak.seq = event.seq;
    peak.ns = event.ns;
    peak.block = event.block;
  }
  return peak;
}

}  // namespace dcmt::analyzer
