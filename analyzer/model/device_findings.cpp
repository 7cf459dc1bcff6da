#include "analyzer/model/device_findings.h"

#include <algorithm>

#include "analyzer/storages/stacks.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;
using analyzer::describe_frame;

std::optional<std::string_view> phase_at(const Analysis& analysis, Sequence at) {
  const analyzer::Mark* phase = analysis.phases.at(at);
  return phase != nullptr ? std::optional(analysis.data->text(phase->name)) : std::nullopt;
}

double share_of(Bytes part, Bytes whole) { return static_cast<double>(part.value) / static_cast<double>(whole.value); }

std::optional<std::int32_t> stream_of(std::int32_t stream) {
  return stream != analyzer::kNoStream ? std::optional(stream) : std::nullopt;
}

/// True if the finding is about a release whose storage was held at the error.
bool points_at(const analyzer::Finding& finding, const analyzer::Finding& error) {
  return finding.number != error.number && std::ranges::any_of(finding.items, [&](const auto& item) {
           return item.row != nullptr &&
                  std::ranges::any_of(error.items, [&](const auto& held) { return held.row == item.row; });
         });
}

}  // namespace

std::vector<OutOfMemory> errors_of(const Analysis& analysis, const analyzer::Finding& finding) {
  const TraceData& data = *analysis.data;
  std::vector<OutOfMemory> errors;
  for (const analyzer::OomVerdict& verdict : finding.out_of_memory) {
    const analyzer::OutOfMemory& oom = *verdict.oom;
    OutOfMemory error;
    error.at = {oom.seq, oom.ns};
    error.step = number_of(verdict.step);
    error.device = data.text(oom.device);
    error.requested = oom.requested;
    error.allocated = verdict.allocated;
    error.reserved = oom.reserved;
    error.free = oom.free;
    error.total = oom.total;
    error.dead = verdict.dead;
    error.missing = verdict.missing;
    error.cause = verdict.cause;
    error.fits_without_dead = verdict.fits_without_dead;
    error.went_on = verdict.went_on;
    error.by = actor_of(data, oom.by);
    error.phase = phase_at(analysis, oom.seq);
    error.index = &oom - data.out_of_memory.data() + 1;
    error.without_dead = Bytes(verdict.allocated.value - verdict.dead.value);
    errors.push_back(std::move(error));
  }
  return errors;
}

std::optional<OutOfMemoryStory> story_of_errors(const Analysis& analysis, const analyzer::Finding& finding) {
  if (finding.out_of_memory.empty()) return std::nullopt;
  OutOfMemoryStory story;
  const analyzer::OutOfMemory& oom = *finding.out_of_memory.front().oom;
  if (analysis.data->sums_only_at(oom.seq) == nullptr) {
    story.alive = LiveSet(analysis.data, &analysis.phases, oom.device, oom.seq).by(analyzer::GroupBy::kSite);
  }
  for (const analyzer::Finding& other : analysis.findings) {
    if (points_at(other, finding)) story.findings.push_back(other.number);
  }
  story.all_went_on = std::ranges::all_of(finding.out_of_memory, &analyzer::OomVerdict::went_on);
  return story;
}

std::optional<Waits> waits_of(const Analysis& analysis, const analyzer::Finding& finding) {
  if (!finding.waits) return std::nullopt;
  const TraceData& data = *analysis.data;
  const analyzer::WaitsAtPeak& from = *finding.waits;
  Waits waits;
  waits.device = data.text(from.device);
  waits.at = {from.seq, from.ns};
  waits.step = number_of(from.step);
  waits.active = from.active;
  waits.waiting = from.all.bytes;
  waits.without_waits = from.without_waits;
  waits.blocks = from.all.blocks;
  waits.median = from.all.median;
  waits.longest = from.all.longest;
  waits.most_waiting = from.most;
  waits.run_active = from.run_active;
  waits.frees = from.frees;
  waits.frees_that_waited = from.waiting;
  for (const analyzer::WaitingSite& site : from.sites) {
    waits.sites.push_back({describe_frame(data, site.site), stream_of(site.stream), site.bytes, site.blocks,
                           site.median, site.longest, given(site.largest)});
  }
  waits.phase = phase_at(analysis, from.seq);
  waits.waiting_share = share_of(from.all.bytes, from.active);
  return waits;
}

std::optional<Pools> pools_of(const TraceData& data, const analyzer::Finding& finding) {
  if (!finding.pools) return std::nullopt;
  const analyzer::StreamPools& from = *finding.pools;
  Pools pools;
  pools.device = data.text(from.device);
  pools.reserved = from.reserved;
  pools.active = from.active;
  pools.idle = from.idle();
  pools.by_streams = from.by_streams;
  pools.rest = from.rest();
  pools.blocks = from.blocks;
  pools.blocks_without_stream = from.without_stream;
  for (const analyzer::StreamPool& pool : from.streams) pools.streams.push_back({stream_of(pool.stream), pool.peak});
  for (const analyzer::PoolSite& site : from.sites) {
    pools.sites.push_back({describe_frame(data, site.site), site.streams, site.bytes, given(site.largest)});
  }
  pools.idle_share = share_of(from.idle(), from.reserved);
  pools.known = from.blocks - from.without_stream;
  pools.only_steps_kept = data.has_sums_only();
  return pools;
}

}  // namespace dcmt::model
