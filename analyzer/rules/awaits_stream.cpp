#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer::rules {
namespace {

using Kind = ActiveEvent::Kind;

// Limits at the peak of active bytes. A wait below either of them is not reported.
constexpr std::int64_t kLeastBytes = std::int64_t{1} << 20;
constexpr std::int64_t kLeastPercent = 1;

/// Finds the peak of a device's active bytes, and the blocks that waited then.
WaitsAtPeak find_peak(const TraceData& data, const DevicePeaks& peaks) {
  WaitsAtPeak result;
  result.device = peaks.device;
  result.run_active = *peaks.active;
  std::int64_t allocated = 0;
  std::int64_t waiting = 0;
  for_each_active_event(data, peaks.device, [&](const ActiveEvent& event) {
    const std::int64_t bytes = event.block->bytes.value;
    if (event.kind == Kind::kAlloc) allocated += bytes;
    if (event.kind == Kind::kFree || event.kind == Kind::kFreeThatWaits) {
      allocated -= bytes;
      ++result.frees;
    }
    if (event.kind == Kind::kFreeThatWaits) {
      waiting += bytes;
      ++result.waiting;
    }
    if (event.kind == Kind::kDone) waiting -= bytes;
    // Blocks are missing between windows.
    if (data.has_sums_only() && data.sums_only_at(event.seq) != nullptr) return;
    result.most = std::max(result.most, Bytes(waiting));
    result.without_waits = std::max(result.without_waits, Bytes(allocated));
    if (allocated + waiting <= result.active.value) return;
    result.active = Bytes(allocated + waiting);
    result.all.bytes = Bytes(waiting);
    result.seq = event.seq;
    result.ns = event.ns;
  });
  return result;
}

struct Waited {
  const Block* block;
  std::int64_t ns;
};

/// The blocks that waited at the peak.
std::vector<Waited> waiting_at(const TraceData& data, const WaitsAtPeak& peak) {
  const TimeNs end = last_ns(data);
  std::vector<Waited> blocks;
  for (const StreamWait& wait : data.stream_waits) {
    const Block* block = data.blocks.find(wait.block);
    if (block == nullptr || block->device != peak.device || block->span.to_seq > peak.seq) continue;
    if (wait.done.valid() && wait.done <= peak.seq) continue;
    const TimeNs done = wait.done.valid() ? wait.done_ns : end;
    blocks.push_back({block, std::max<std::int64_t>(0, done.value - block->span.to_ns.value)});
  }
  return blocks;
}

void sum_up(std::vector<Waited> blocks, WaitingSite& site) {
  std::sort(blocks.begin(), blocks.end(), [](const Waited& a, const Waited& b) { return a.ns < b.ns; });
  const Block* largest = blocks.front().block;
  site.bytes = Bytes(0);
  for (const Waited& waited : blocks) {
    site.bytes.value += waited.block->bytes.value;
    if (waited.block->bytes > largest->bytes) largest = waited.block;
  }
  site.blocks = static_cast<std::int64_t>(blocks.size());
  site.median = TimeNs(blocks[(blocks.size() - 1) / 2].ns);
  site.longest = TimeNs(blocks.back().ns);
  site.largest = largest->id;
}

void add_sites(const TraceData& data, WaitsAtPeak& peak) {
  const std::vector<Waited> blocks = waiting_at(data, peak);
  std::map<std::pair<FrameId, std::int32_t>, std::vector<Waited>> groups;
  for (const Waited& waited : blocks) {
    groups[{site_of(data, waited.block->birth.stack), waited.block->stream}].push_back(waited);
    peak.byte_seconds += static_cast<double>(waited.block->bytes.value) * static_cast<double>(waited.ns) * 1e-9;
  }
  for (auto& [place, group] : groups) {
    WaitingSite& site = peak.sites.emplace_back();
    std::tie(site.site, site.stream) = place;
    sum_up(std::move(group), site);
  }
  std::stable_sort(peak.sites.begin(), peak.sites.end(),
                   [](const WaitingSite& a, const WaitingSite& b) { return a.bytes > b.bytes; });
  if (!blocks.empty()) sum_up(blocks, peak.all);
}

}  // namespace

std::vector<Finding> awaits_stream(const TraceData& data, const Releases& releases) {
  std::vector<Finding> findings;
  if (data.stream_waits.empty()) return findings;
  for (const DevicePeaks& peaks : data.device_peaks) {
    if (!peaks.active) continue;
    WaitsAtPeak waits = find_peak(data, peaks);
    const std::int64_t waiting = waits.all.bytes.value;
    if (waiting < kLeastBytes || waiting < waits.active.value / 100 * kLeastPercent) continue;
    waits.step = step_at(releases.steps, waits.seq);
    add_sites(data, waits);
    Finding& finding = findings.emplace_back();
    finding.rule = "awaits_stream";
    finding.title = "freed, waits for a stream";
    finding.classes.emplace_back("D08");
    finding.confidence = Confidence::kCertain;
    finding.bytes = waits.all.bytes;
    finding.byte_seconds = waits.byte_seconds;
    finding.why =
        "other streams had been given them (record_stream) and were still at work: the allocator hands a block out "
        "again only when they are through with it, however long ago the program freed it";
    finding.fix =
        "wait for the work before the tensor is dropped, free it on the stream that uses it last, or limit the gathers "
        "in flight";
    finding.waits = std::move(waits);
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules
