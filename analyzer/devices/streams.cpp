#include "analyzer/devices/streams.h"

#include <algorithm>
#include <utility>

namespace dcmt::analyzer {
namespace {

using Kind = ActiveEvent::Kind;

/// The ends of a device's waits, in order.
std::vector<ActiveEvent> ends_of_waits(const TraceData& data, StringId device) {
  std::vector<ActiveEvent> ends;
  for (const StreamWait& wait : data.stream_waits) {
    const Block* block = data.blocks.find(wait.block);
    if (block == nullptr || block->device != device || !wait.done.valid()) continue;
    ends.push_back({wait.done, wait.done_ns, Kind::kDone, block});
  }
  std::stable_sort(ends.begin(), ends.end(), [](const ActiveEvent& a, const ActiveEvent& b) { return a.seq < b.seq; });
  return ends;
}

}  // namespace

void for_each_active_event(const TraceData& data, StringId device,
                           const std::function<void(const ActiveEvent&)>& visit) {
  const std::vector<ActiveEvent> dones = ends_of_waits(data, device);
  auto done = dones.begin();
  auto begin = data.blocks_by_begin.begin();
  auto end = data.blocks_by_end.begin();
  const auto skip_others = [device](auto& at, const auto& last) {
    while (at != last && at->second->device != device) ++at;
    return at != last ? std::optional(at->first) : std::nullopt;
  };
  for (;;) {
    const std::optional<Sequence> alloc = skip_others(begin, data.blocks_by_begin.end());
    const std::optional<Sequence> free = skip_others(end, data.blocks_by_end.end());
    const bool free_first = free && (!alloc || *free <= *alloc);
    if (done != dones.end() && (!alloc || done->seq <= *alloc) && (!free || done->seq <= *free)) {
      visit(*done++);
    } else if (free_first) {
      const Block& block = *(end++)->second;
      const bool waits = find_stream_wait(data, block.id) != nullptr;
      visit({block.span.to_seq, block.span.to_ns, waits ? Kind::kFreeThatWaits : Kind::kFree, &block});
    } else if (alloc) {
      const Block& block = *(begin++)->second;
      visit({block.span.from_seq, block.span.from_ns, Kind::kAlloc, &block});
    } else {
      return;
    }
  }
}

const StreamWait* find_stream_wait(const TraceData& data, BlockId block) {
  const auto wait = std::lower_bound(data.stream_waits.begin(), data.stream_waits.end(), block,
                                     [](const StreamWait& w, BlockId id) { return w.block < id; });
  return wait != data.stream_waits.end() && wait->block == block ? &*wait : nullptr;
}

}  // namespace dcmt::analyzer
