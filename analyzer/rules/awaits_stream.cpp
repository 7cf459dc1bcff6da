#include <algorithm>
#include <map>
#include <utility>

#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer::rules {
namespace {

using Kind = ActiveEvent::Kind;

// Limits at the peak of active bytes. A wait below either of them is not reported.
constexpr std::int64_t kLeastWaiting = std::int64_t{1} << 20;
constexpr std::int64_t kLeastWaitingPercent = 1;

/// Finds the peak of a device's active bytes, and the blocks that waited then.
WaitsAtPeak find_peak(const TraceData& data, const DevicePeaks& peaks) {
  WaitsAtPeak result;
  result.device = data.text(peaks.device);
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
      ++result.frees_that_waited;
    }
    if (event.kind == Kind::kDone) waiting -= bytes;
    // Blocks are missing between windows.
    if (data.has_sums_only() && data.sums_only_at(event.seq) != nullptr) return;
    result.most_waiting = std::max(result.most_waiting, Bytes(waiting));
    result.without_waits = std::max(result.without_waits, Bytes(allocated));
    if (allocated + waiting <= result.active.value) return;
    result.active = Bytes(allocated + waiting);
    result.waiting = Bytes(waiting);
    result.at = {event.seq, event.ns};
  });
  return result;
}

struct Waited {
  const Block* block;
  std::int64_t ns;
};

/// The blocks that waited at the peak.
std::vector<Waited> waiting_at(const TraceData& data, StringId device, Sequence at) {
  const TimeNs end = last_ns(data);
  std::vector<Waited> blocks;
  for (const StreamWait& wait : data.stream_waits) {
    const Block* block = data.blocks.find(wait.block);
    if (block == nullptr || block->device != device || block->span.to_seq > at) continue;
    if (wait.done.valid() && wait.done <= at) continue;
    const TimeNs done = wait.done.valid() ? wait.done_ns : end;
    blocks.push_back({block, std::max<std::int64_t>(0, done.value - block->span.to_ns.value)});
  }
  return blocks;
}

WaitingSite sum_of(std::vector<Waited> blocks) {
  WaitingSite site;
  std::sort(blocks.begin(), blocks.end(), [](const Waited& a, const Waited& b) { return a.ns < b.ns; });
  const Block* largest = blocks.front().block;
  for (const Waited& waited : blocks) {
    site.bytes.value += waited.block->bytes.value;
    if (waited.block->bytes > largest->bytes) largest = waited.block;
  }
  site.blocks = static_cast<std::int64_t>(blocks.size());
  site.median = TimeNs(blocks[(blocks.size() - 1) / 2].ns);
  site.longest = TimeNs(blocks.back().ns);
  site.largest_block = largest->id;
  return site;
}

void add_sites(const TraceData& data, StringId device, WaitsAtPeak& peak) {
  const std::vector<Waited> blocks = waiting_at(data, device, peak.at.seq);
  std::map<std::pair<FrameId, std::int32_t>, std::vector<Waited>> groups;
  for (const Waited& waited : blocks) {
    groups[{site_of(data, waited.block->birth.stack), waited.block->stream}].push_back(waited);
    peak.byte_seconds += static_cast<double>(waited.block->bytes.value) * static_cast<double>(waited.ns) * 1e-9;
  }
  for (auto& [place, group] : groups) {
    WaitingSite& site = peak.sites.emplace_back(sum_of(std::move(group)));
    site.site = describe_frame(data, place.first);
    if (place.second != kNoStream) site.stream = place.second;
  }
  std::stable_sort(peak.sites.begin(), peak.sites.end(),
                   [](const WaitingSite& a, const WaitingSite& b) { return a.bytes > b.bytes; });
  if (blocks.empty()) return;
  const WaitingSite all = sum_of(blocks);
  peak.waiting = all.bytes;
  peak.blocks = all.blocks;
  peak.median = all.median;
  peak.longest = all.longest;
}

}  // namespace

std::vector<Finding> awaits_stream(const TraceData& data, const Releases& releases) {
  std::vector<Finding> findings;
  if (data.stream_waits.empty()) return findings;
  // Without a history, no peak of the active bytes is known.
  if (data.meta_text(meta::kHistory) == "none") return findings;
  for (const DevicePeaks& peaks : data.device_peaks) {
    if (!peaks.active) continue;
    WaitsAtPeak waits = find_peak(data, peaks);
    const std::int64_t waiting = waits.waiting.value;
    if (waiting < kLeastWaiting || waiting < waits.active.value / 100 * kLeastWaitingPercent) continue;
    if (const Step* step = step_at(releases.steps, waits.at.seq)) waits.step = step->number;
    const PhaseIndex phases(data);
    if (const Mark* phase = phases.at(waits.at.seq)) waits.phase = data.text(phase->name);
    add_sites(data, peaks.device, waits);
    Finding& finding = findings.emplace_back();
    finding.rule = "awaits_stream";
    finding.title = "freed, waits for a stream";
    finding.classes.emplace_back("D08");
    finding.confidence = Confidence::kCertain;
    finding.device = peaks.device;
    finding.bytes = waits.waiting;
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
