#include "analyzer/allocator/requests.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <unordered_map>

#include "analyzer/devices/streams.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

using Kind = AllocatorEvent::Kind;

/// A segment's begin or end. At one sequence, ends come first.
struct SegmentChange {
  Sequence seq;
  bool begins = false;
  const Segment* segment = nullptr;
};

std::vector<SegmentChange> changes_of(const TraceData& data, std::int64_t gpu) {
  std::vector<SegmentChange> changes;
  for (const Segment& segment : data.allocators.segments) {
    if (segment.gpu != gpu) continue;
    changes.push_back({segment.span.from_seq, true, &segment});
    if (segment.span.ended()) changes.push_back({segment.span.to_seq, false, &segment});
  }
  std::ranges::stable_sort(changes, [](const SegmentChange& a, const SegmentChange& b) {
    return a.seq != b.seq ? a.seq < b.seq : a.begins < b.begins;
  });
  return changes;
}

/// The private pools of a device's segments, by address.
class Pools {
 public:
  void change(const SegmentChange& change) {
    if (change.begins) {
      pools_[change.segment->address] = change.segment;
    } else if (const auto at = pools_.find(change.segment->address); at->second == change.segment) {
      pools_.erase(at);
    }
  }
  [[nodiscard]] const Segment* at(std::int64_t address) const {
    auto after = pools_.upper_bound(address);
    if (after == pools_.begin()) return nullptr;
    const Segment* segment = std::prev(after)->second;
    return segment->has(address) ? segment : nullptr;
  }

 private:
  std::map<std::int64_t, const Segment*> pools_;
};

std::string incomplete_because(const TraceData& data, const std::vector<AllocatorEvent>& events, bool is_snapshot) {
  const std::string_view history = data.meta_text(meta::kHistory);
  if (!history.empty() && history != "whole") return "the snapshot's history does not begin with the program";
  if (data.meta_integer(meta::kFirstSeq).value_or(0) > 1) return "the recording began in a running program";
  if (data.has_sums_only()) return "parts of the run have only sums";
  if (!data.losses.empty()) return "records are missing";
  if (is_snapshot) return {};
  const auto unknown = std::ranges::count_if(
      events, [](const AllocatorEvent& event) { return event.kind == Kind::kRequest && event.request.bytes < 0; });
  return unknown == 0 ? std::string() : std::to_string(unknown) + " blocks do not say what was asked for";
}

}  // namespace

std::optional<std::int64_t> gpu_of(const TraceData& data, StringId device) {
  std::string_view name = data.text(device);
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

std::optional<std::int32_t> stream_at(const TraceData& data, StringId device, Sequence at) {
  std::optional<ThreadId> thread;
  for (const OutOfMemory& oom : data.out_of_memory) {
    if (oom.seq == at && oom.device == device) thread = oom.by.thread;
  }
  std::optional<std::int32_t> any;
  const auto& blocks = data.blocks_by_begin;
  auto next = std::upper_bound(blocks.begin(), blocks.end(), at,
                               [](Sequence seq, const auto& entry) { return seq < entry.first; });
  while (next != blocks.begin()) {
    const Block& each = *(--next)->second;
    if (each.device != device || each.stream == kNoStream) continue;
    if (!any) any = each.stream;
    if (!thread || each.birth.thread == *thread) return each.stream;
  }
  return any;
}

AllocatorRequests requests_of(const TraceData& data, StringId device, const std::vector<Gap>& gaps) {
  AllocatorRequests requests;
  const std::optional<std::int64_t> gpu = gpu_of(data, device);
  if (!gpu) return requests;
  const bool is_snapshot = !data.meta_text(meta::kHistory).empty();
  requests.has_sizes = !is_snapshot;
  for (const AllocatorSetup& setup : data.allocators.setups) {
    if (setup.gpu != *gpu) continue;
    requests.listed = setup.seq;
    requests.settings_text = data.text(setup.settings);
    if (const Expected<AllocatorSettings> settings = read_settings(requests.settings_text); settings.ok()) {
      requests.settings = *settings;
    }
    if (setup.limit) requests.settings.limit = setup.limit->value;
  }
  for (const GpuMemory& sample : data.gpu_memory) {
    if (sample.gpu == *gpu) requests.total = sample.total.value;
  }
  std::unordered_map<const Block*, std::vector<const Gap*>> gaps_of;
  for (const Gap& gap : gaps) gaps_of[gap.block].push_back(&gap);

  std::vector<AllocatorEvent> events;
  for (const GpuBlock& each : data.allocators.blocks) {
    if (each.gpu != *gpu || each.address == 0) continue;
    const Block* block = data.blocks.find(each.id);
    if (block == nullptr) continue;
    AllocatorEvent event;
    event.block = block;
    event.seq = block->span.from_seq;
    event.address = each.address;
    event.request.stream = std::max(block->stream, 0);
    event.request.bytes = is_snapshot     ? block->bytes.value
                          : each.rounding ? block->bytes.value - each.rounding->value
                                          : -1;
    const AllocatorEvent request = event;
    const auto add = [&](Sequence seq, Kind kind) {
      event = request;
      event.seq = seq;
      event.kind = kind;
      events.push_back(event);
    };
    add(request.seq, Kind::kRequest);
    Sequence done = block->span.to_seq;
    if (const StreamWait* wait = find_stream_wait(data, block->id)) done = wait->done;
    bool is_there = true;
    if (const auto found = gaps_of.find(block); found != gaps_of.end()) {
      for (const Gap* gap : found->second) {
        add(gap->from, Kind::kFree);
        is_there = gap->to.valid() && gap->to < block->span.end();
        if (is_there) add(gap->to, Kind::kRequest);
      }
    }
    if (is_there && done.valid()) add(done, Kind::kFree);
  }
  for (const OutOfMemory& oom : data.out_of_memory) {
    if (oom.device != device) continue;
    AllocatorEvent event;
    event.seq = oom.seq;
    event.kind = Kind::kRefused;
    event.request.bytes = oom.requested.value;
    event.request.stream = stream_at(data, device, oom.seq).value_or(0);
    // A device with enough free memory did not refuse: the process's limit did.
    const bool lacks = oom.free && *oom.free < oom.requested;
    if (lacks && oom.reserved) event.bytes = oom.reserved->value + oom.free->value;
    events.push_back(event);
  }
  const auto order = [](const AllocatorEvent& event) { return event.kind == Kind::kFree ? 0 : 1; };
  std::ranges::stable_sort(events, [&](const AllocatorEvent& a, const AllocatorEvent& b) {
    return a.seq != b.seq ? a.seq < b.seq : order(a) < order(b);
  });

  for (const Segment& segment : data.allocators.segments) {
    if (segment.gpu == *gpu && !segment.expandable) requests.addresses.saw(segment.address, segment.bytes.value);
  }
  Pools pools;
  const std::vector<SegmentChange> changes = changes_of(data, *gpu);
  auto change = changes.begin();
  const auto take_changes = [&](Sequence to) {
    for (; change != changes.end() && change->seq <= to; ++change) {
      pools.change(*change);
      const Kind kind = change->begins ? Kind::kReserved : Kind::kReleased;
      if (requests.events.empty() || requests.events.back().kind != kind) {
        requests.events.emplace_back();
        requests.events.back().kind = kind;
      }
      AllocatorEvent& event = requests.events.back();
      event.seq = change->seq;
      event.bytes += change->segment->bytes.value;
      const std::int64_t pool = change->segment->pool.value_or(0);
      if (std::ranges::find(event.pools, pool) == event.pools.end()) event.pools.push_back(pool);
    }
  };
  for (AllocatorEvent& event : events) {
    take_changes(event.seq);
    if (event.kind == Kind::kRequest) {
      if (const Segment* segment = pools.at(event.address)) event.request.pool = segment->pool.value_or(0);
    }
    requests.events.push_back(event);
  }
  take_changes(Sequence(std::numeric_limits<std::int64_t>::max()));
  requests.incomplete = incomplete_because(data, requests.events, is_snapshot);
  return requests;
}

}  // namespace dcmt::analyzer
