#include "analyzer/time/curve.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace dcmt::analyzer {
namespace {

struct Event {
  Sequence seq;
  std::int64_t delta = 0;
  TimeNs ns;
  const Block* block = nullptr;  ///< of a real allocation

  // A gap that ends with its block adds and removes the same bytes at one sequence. Removal comes first: no false peak.
  friend bool operator<(const Event& a, const Event& b) { return a.seq != b.seq ? a.seq < b.seq : a.delta < b.delta; }
};

void add_gap(const Gap& gap, std::vector<Event>& events) {
  const Span& life = gap.block->span;
  const Sequence from = std::max(gap.from, life.from_seq);
  const bool to_the_end = !gap.to.valid() || (life.ended() && gap.to >= life.to_seq);
  const Sequence to = to_the_end ? life.to_seq : gap.to;
  if (to.valid() && to <= from) return;
  events.push_back({from, -gap.bytes(), {}, nullptr});
  if (to.valid()) events.push_back({to, gap.bytes(), {}, nullptr});
}

/// In an interval without rows, the curve goes to its peak and then to its end, at once.
void add_sums(const TraceData& data, StringId device, std::vector<Event>& events) {
  for (const IntervalCurve& curve : data.interval_curves) {
    if (curve.device != device) continue;
    events.push_back({curve.peak_seq, curve.peak.value - curve.begin.value, curve.peak_ns, nullptr});
    events.push_back({curve.span.to_seq, curve.end.value - curve.peak.value, curve.span.to_ns, nullptr});
  }
}

/// The begins or ends of a device's blocks, in order, as `event_of(const Block&)` makes them.
template <class EventOf>
class BlockEvents {
 public:
  BlockEvents(const TraceData& data, StringId device, const RowIndex<Sequence, Block>& blocks, const EventOf& event_of)
      : data_(data), device_(device), at_(blocks.begin()), end_(blocks.end()), event_of_(event_of) {}

  /// False at the end.
  bool next(Event& event) {
    for (; at_ != end_; ++at_) {
      const auto& [seq, block] = *at_;
      if (block->device != device_ || (data_.has_sums_only() && data_.sums_only_at(seq) != nullptr)) continue;
      event = event_of_(*block);
      ++at_;
      return true;
    }
    return false;
  }

 private:
  using Position = decltype(std::declval<const RowIndex<Sequence, Block>&>().begin());

  const TraceData& data_;
  StringId device_;
  Position at_, end_;
  EventOf event_of_;
};

/// Calls visit(const Event&) for all events in order. There are millions of them, so they are never all in memory.
template <class Visit>
void for_each_event(const TraceData& data, StringId device, const std::vector<Gap>& gaps, const Visit& visit) {
  std::vector<Event> others;
  add_sums(data, device, others);
  for (const Gap& gap : gaps) {
    if (gap.block->device == device) add_gap(gap, others);
  }
  std::sort(others.begin(), others.end());
  BlockEvents begins(data, device, data.blocks_by_begin, [](const Block& block) -> Event {
    return {block.span.from_seq, block.bytes.value, block.span.from_ns, &block};
  });
  BlockEvents ends(data, device, data.blocks_by_end, [](const Block& block) -> Event {
    return {block.span.to_seq, -block.bytes.value, block.span.to_ns, nullptr};
  });
  Event begin;
  Event end;
  auto other = others.begin();
  bool begun = begins.next(begin);
  bool ended = ends.next(end);
  while (begun || ended || other != others.end()) {
    const bool other_first = other != others.end() && (!begun || *other < begin) && (!ended || *other < end);
    if (other_first) {
      visit(*other++);
    } else if (ended && (!begun || end < begin)) {
      visit(end);
      ended = ends.next(end);
    } else {
      visit(begin);
      begun = begins.next(begin);
    }
  }
}

}  // namespace

bool is_gpu(std::string_view device) { return device != "cpu"; }

Expected<std::size_t> device_named(const std::string& path, const std::vector<std::string_view>& devices,
                                   std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string_view device = devices[i];
    if (device == name || device.substr(0, device.find(':')) == name) return i;
    names.append(i == 0 ? "" : ", ").append(device);
  }
  return Error{ErrorCode::kUsage,
               path + ": nothing was allocated on '" + std::string(name) + "'. Devices of this trace: " + names + "."};
}

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
  std::stable_sort(devices.begin(), devices.end(), [&](StringId a, StringId b) {
    return std::pair(is_gpu(data.text(a)), peaks[a]) > std::pair(is_gpu(data.text(b)), peaks[b]);
  });
  return devices;
}

Curve allocated_curve(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  Curve points;
  points.reserve(2 * (data.blocks.size() + data.interval_curves.size() + gaps.size()));
  for_each_point(data, device, gaps, [&](const CurvePoint& point) { points.push_back(point); });
  return points;
}

void for_each_point(const TraceData& data, StringId device, const std::vector<Gap>& gaps,
                    const std::function<void(const CurvePoint&)>& visit) {
  std::optional<CurvePoint> point;  // after the events so far at one sequence
  std::int64_t bytes = 0;
  for_each_event(data, device, gaps, [&](const Event& event) {
    bytes += event.delta;
    if (point && point->seq != event.seq) visit(*point);
    point = CurvePoint{event.seq, Bytes(bytes)};
  });
  if (point) visit(*point);
}

Peak peak_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  Peak peak;
  peak.device = device;
  std::int64_t bytes = 0;
  for_each_event(data, device, gaps, [&](const Event& event) {
    bytes += event.delta;
    // Without rows between windows, it is unknown what would have been freed there, so nothing is predicted.
    if (bytes <= peak.bytes.value || (!gaps.empty() && data.sums_only_at(event.seq) != nullptr)) return;
    peak.bytes = Bytes(bytes);
    peak.seq = event.seq;
    peak.ns = event.ns;
    peak.block = event.block;
  });
  return peak;
}

DevicePeaks device_peaks_of(const TraceData& data, StringId device) {
  const auto found = std::find_if(data.device_peaks.begin(), data.device_peaks.end(),
                                  [device](const DevicePeaks& peaks) { return peaks.device == device; });
  return found != data.device_peaks.end() ? *found : DevicePeaks{};
}

}  // namespace dcmt::analyzer
