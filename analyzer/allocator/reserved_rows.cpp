#include "analyzer/allocator/reserved_rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/allocator/requests.h"
#include "analyzer/devices/streams.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMostSmallBlock = std::int64_t{1} << 20;
constexpr std::int64_t kSmallPages = std::int64_t{2} << 20;

/// Addresses with one purpose: a segment, or the parts of an expandable one that lie side by side.
struct Stretch {
  std::int64_t from = 0, to = 0;
  const Segment* segment = nullptr;
};

/// A block that is alive, or that was freed and waits for a stream.
struct Used {
  std::int64_t address = 0, bytes = 0, rounding = 0;
  const Block* block = nullptr;
  bool waits = false;
};

std::vector<Stretch> stretches_at(const TraceData& data, std::int64_t gpu, Sequence at) {
  std::vector<Stretch> parts;
  for (const Segment& segment : data.allocators.segments) {
    if (segment.gpu == gpu && segment.span.covers(at)) {
      parts.push_back({segment.address, segment.address + segment.bytes.value, &segment});
    }
  }
  std::ranges::sort(parts, {}, &Stretch::from);
  std::vector<Stretch> joined;
  for (const Stretch& part : parts) {
    const bool goes_on = !joined.empty() && joined.back().to == part.from && part.segment->expandable &&
                         joined.back().segment->expandable && joined.back().segment->stream == part.segment->stream &&
                         joined.back().segment->pool == part.segment->pool;
    if (goes_on) {
      joined.back().to = part.to;
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

std::vector<Used> used_at(const TraceData& data, std::int64_t gpu, Sequence at, bool sizes_known) {
  std::vector<Used> used;
  const AllocatorSettings unset;
  for (const GpuBlock& each : data.allocators.blocks) {
    if (each.gpu != gpu || each.address == 0) continue;
    const Block* block = data.blocks.find(each.id);
    if (block == nullptr || block->span.from_seq > at) continue;
    bool waits = false;
    if (!block->span.covers(at)) {
      const StreamWait* wait = find_stream_wait(data, block->id);
      waits = wait != nullptr && (!wait->done.valid() || at < wait->done);
      if (!waits) continue;
    }
    const std::int64_t bytes = sizes_known ? block->bytes.value : unset.rounded(block->bytes.value);
    const std::int64_t rounding = sizes_known ? (each.rounding ? each.rounding->value : 0) : bytes - block->bytes.value;
    used.push_back({each.address, bytes, rounding, block, waits});
  }
  std::ranges::sort(used, {}, &Used::address);
  return used;
}

/// Sums bytes into rows.
class Rows {
 public:
  void add(ReservedKind kind, std::int64_t bytes, const Stretch& stretch, std::int64_t releasable = 0) {
    if (bytes == 0) return;
    ReservedRow key;
    key.kind = kind;
    if (kind == ReservedKind::kOtherStream) key.stream = std::max(stretch.segment->stream, 0);
    if (kind == ReservedKind::kPrivatePool) key.pool = stretch.segment->pool;
    auto& [row, last] = rows_[{kind, key.stream.value_or(-1), key.pool.value_or(0)}];
    row.kind = kind;
    row.stream = key.stream;
    row.pool = key.pool;
    row.bytes.value += bytes;
    row.releasable.value += releasable;
    if (std::exchange(last, stretch.from) != stretch.from) ++row.segments;
  }
  [[nodiscard]] std::vector<ReservedRow> all() const {
    std::vector<ReservedRow> rows;
    for (const auto& [key, row] : rows_) rows.push_back(row.first);
    std::ranges::stable_sort(rows, [](const ReservedRow& a, const ReservedRow& b) {
      return a.kind != b.kind ? a.kind < b.kind : a.bytes > b.bytes;
    });
    return rows;
  }

 private:
  std::map<std::tuple<ReservedKind, std::int64_t, std::int64_t>, std::pair<ReservedRow, std::int64_t>> rows_;
};

/// The free bytes of an expandable segment whose pages have no block.
std::int64_t bytes_of_free_pages(const Stretch& stretch, std::int64_t from, std::int64_t to, std::int64_t page) {
  const std::int64_t first = (from - stretch.from + page - 1) / page * page;
  const std::int64_t last = (to - stretch.from) / page * page;
  return std::max<std::int64_t>(last - first, 0);
}

}  // namespace

std::string_view name_of(ReservedKind kind) {
  constexpr std::string_view kNames[] = {"requested",    "rounding",     "waiting",   "kept",
                                         "other stream", "private pool", "releasable"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool has_segments(const TraceData& data, StringId device) {
  const std::optional<std::int64_t> gpu = gpu_of(data, device);
  return gpu && std::ranges::any_of(data.allocators.segments, [&](const auto& each) { return each.gpu == *gpu; });
}

Sequence reserved_peak(const TraceData& data, StringId device) {
  const AllocatorRequests requests = requests_of(data, device);
  std::int64_t now = 0, peak = -1;
  Sequence at;
  for (const AllocatorEvent& event : requests.events) {
    if (event.kind == AllocatorEvent::Kind::kReserved) now += event.bytes;
    if (event.kind == AllocatorEvent::Kind::kReleased) now -= event.bytes;
    if (event.kind != AllocatorEvent::Kind::kRequest || now <= peak) continue;
    peak = now;
    at = event.seq;
  }
  return at;
}

ReservedAt reserved_at(const TraceData& data, StringId device, Sequence at) {
  ReservedAt result;
  result.device = device;
  result.at = at;
  result.stream = stream_at(data, device, at);
  result.sizes_known = data.meta_text(meta::kHistory).empty();
  const std::int64_t gpu = gpu_of(data, device).value_or(-1);
  const std::int32_t stream = result.stream.value_or(0);
  const std::vector<Used> used = used_at(data, gpu, at, result.sizes_known);
  Rows rows;
  auto next = used.begin();
  for (const Stretch& stretch : stretches_at(data, gpu, at)) {
    const Segment& segment = *stretch.segment;
    result.reserved.value += stretch.to - stretch.from;
    for (; next != used.end() && next->address < stretch.from; ++next) ++result.blocks_unknown;
    HeldSegment held{stretch.from, std::max(segment.stream, 0), segment.pool.value_or(0),
                     Bytes(stretch.to - stretch.from)};
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;
    std::int64_t end = stretch.from;
    bool has_small = false;
    for (; next != used.end() && next->address < stretch.to; ++next) {
      if (next->address > end) gaps.emplace_back(end, next->address);
      const std::int64_t bytes = std::min(next->address + next->bytes, stretch.to) - std::max(next->address, end);
      if (bytes <= 0) continue;
      end = std::min(next->address + next->bytes, stretch.to);
      has_small = has_small || next->bytes <= kMostSmallBlock;
      held.blocks.push_back(next->block);
      const std::int64_t rounding = std::min(next->rounding, bytes);
      if (next->waits) {
        rows.add(ReservedKind::kWaiting, bytes, stretch);
      } else {
        rows.add(ReservedKind::kRequested, bytes - rounding, stretch);
        rows.add(ReservedKind::kRounding, rounding, stretch);
      }
    }
    if (end < stretch.to) gaps.emplace_back(end, stretch.to);
    const bool is_private = segment.pool.value_or(0) != 0;
    const bool is_other = held.stream != stream;
    const std::int64_t page = has_small ? kSmallPages : AllocatorSettings().large_segment;
    for (const auto& [from, to] : gaps) {
      const std::int64_t bytes = to - from;
      const std::int64_t releasable = is_private            ? 0
                                      : held.blocks.empty() ? bytes
                                      : segment.expandable  ? bytes_of_free_pages(stretch, from, to, page)
                                                            : 0;
      if (is_private) {
        rows.add(ReservedKind::kPrivatePool, bytes, stretch);
      } else if (is_other) {
        rows.add(ReservedKind::kOtherStream, bytes, stretch, releasable);
      } else {
        rows.add(ReservedKind::kKept, bytes - releasable, stretch);
        rows.add(ReservedKind::kReleasable, releasable, stretch, releasable);
        result.largest_free = std::max(result.largest_free, Bytes(bytes));
      }
      held.free.value += bytes - releasable;
      held.largest_free = std::max(held.largest_free, Bytes(bytes));
    }
    if (held.free.value == 0 || held.blocks.empty()) continue;
    std::ranges::stable_sort(held.blocks, [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
    result.held.push_back(std::move(held));
  }
  result.blocks_unknown += used.end() - next;
  result.rows = rows.all();
  std::ranges::stable_sort(result.held, [](const HeldSegment& a, const HeldSegment& b) { return a.free > b.free; });
  return result;
}

}  // namespace dcmt::analyzer
