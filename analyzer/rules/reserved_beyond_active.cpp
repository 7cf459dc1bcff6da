#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer::rules {
namespace {

using Kind = ActiveEvent::Kind;

// Limits of reserved memory that was never active at once. Any allocator needs less than either.
constexpr std::int64_t kLeastIdle = std::int64_t{64} << 20;
constexpr std::int64_t kLeastIdlePercent = 20;

struct Height {
  std::int64_t now = 0, peak = 0;

  void change(std::int64_t bytes) {
    now += bytes;
    peak = std::max(peak, now);
  }
};

/// The sites of blocks, with a cache by stack.
class Sites {
 public:
  explicit Sites(const TraceData& data) : data_(data) {}

  FrameId of(const Block& block) {
    const auto [site, is_new] = sites_.try_emplace(block.birth.stack);
    if (is_new) site->second = site_of(data_, block.birth.stack);
    return site->second;
  }

 private:
  const TraceData& data_;
  std::unordered_map<StackId, FrameId> sites_;
};

/// The allocations of a place, by stream.
struct Place {
  std::map<std::int32_t, Height> streams;
  const Block* largest = nullptr;
};

void add_place(const TraceData& data, FrameId site, const Place& place, StreamPools& pools) {
  if (place.streams.size() < 2) return;
  PoolSite& added = pools.sites.emplace_back();
  added.site = describe_frame(data, site);
  added.streams = static_cast<std::int64_t>(place.streams.size());
  added.largest_block = place.largest->id;
  for (const auto& [stream, height] : place.streams) added.bytes.value += height.peak;
}

StreamPools pools_of(const TraceData& data, const DevicePeaks& peaks) {
  StreamPools pools;
  pools.device = data.text(peaks.device);
  pools.only_steps_kept = data.has_sums_only();
  pools.reserved = *peaks.reserved;
  pools.active = *peaks.active;
  Sites sites(data);
  std::map<std::int32_t, Height> streams;
  std::map<FrameId, Place> places;
  for_each_active_event(data, peaks.device, [&](const ActiveEvent& event) {
    if (event.kind == Kind::kFreeThatWaits) return;  // the block stays active
    const Block& block = *event.block;
    const bool alloc = event.kind == Kind::kAlloc;
    const std::int64_t bytes = alloc ? block.bytes.value : -block.bytes.value;
    // An unknown stream is from before the allocator was tracked: at most one block, so it gets no pool of its own.
    const std::int32_t stream = std::max(block.stream, 0);
    Place& place = places[sites.of(block)];
    streams[stream].change(bytes);
    place.streams[stream].change(bytes);
    if (!alloc) return;
    ++pools.blocks;
    if (block.stream == kNoStream) ++pools.blocks_without_stream;
    if (place.largest == nullptr || block.bytes > place.largest->bytes) place.largest = &block;
  });
  std::int64_t sum = 0;
  for (const auto& [stream, height] : streams) {
    pools.streams.push_back({stream, Bytes(height.peak)});
    sum += height.peak;
  }
  for (const auto& [site, place] : places) add_place(data, site, place, pools);
  std::stable_sort(pools.streams.begin(), pools.streams.end(),
                   [](const StreamPool& a, const StreamPool& b) { return a.peak > b.peak; });
  std::stable_sort(pools.sites.begin(), pools.sites.end(),
                   [](const PoolSite& a, const PoolSite& b) { return a.bytes > b.bytes; });
  pools.by_streams = Bytes(std::clamp<std::int64_t>(sum - pools.active.value, 0, pools.idle().value));
  return pools;
}

bool mostly_streams(const StreamPools& pools) { return pools.by_streams > pools.rest(); }

std::string why_of(const StreamPools& pools) {
  if (mostly_streams(pools)) {
    return "a cached block serves the stream only on which it was allocated, so each stream's pool grew to that "
           "stream's own peak";
  }
  if (pools.streams.size() > 1) {
    return "mostly rounding and fragmentation: what was cached lay in pieces that no request fitted";
  }
  return "no second stream was seen, so it is rounding and fragmentation: what was cached lay in pieces that no "
         "request "
         "fitted";
}

std::string fix_of(const StreamPools& pools) {
  const std::string pieces = "PYTORCH_ALLOC_CONF=expandable_segments:True";
  if (!mostly_streams(pools)) return pieces + ", or fewer sizes that differ";
  return "work on fixed streams, allocate spiky buffers on the main stream; " + pieces;
}

}  // namespace

std::vector<Finding> reserved_beyond_active(const TraceData& data, const Releases& /*releases*/) {
  std::vector<Finding> findings;
  // More may have been active before a history began.
  if (const std::string_view history = data.meta_text(meta::kHistory); !history.empty() && history != "whole")
    return findings;
  for (const DevicePeaks& peaks : data.device_peaks) {
    if (!peaks.active || !peaks.reserved) continue;
    const std::int64_t idle = peaks.reserved->value - peaks.active->value;
    if (idle < kLeastIdle || idle < peaks.reserved->value / 100 * kLeastIdlePercent) continue;
    StreamPools pools = pools_of(data, peaks);
    Finding& finding = findings.emplace_back();
    finding.rule = "reserved_beyond_active";
    finding.title = "reserved far beyond what is active";
    finding.classes.emplace_back("D09");
    finding.confidence = Confidence::kCertain;
    finding.device = peaks.device;
    finding.bytes = pools.idle();
    finding.why = why_of(pools);
    finding.fix = fix_of(pools);
    finding.pools = std::move(pools);
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules
