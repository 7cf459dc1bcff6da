#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyzer/devices/streams.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "trace/base/oom_figures.h"
#include "trace/base/quantities.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer::rules {
namespace {

using Kind = ActiveEvent::Kind;

constexpr std::size_t kMostKeptShown = 3;
constexpr std::size_t kMostPlaces = 2;
constexpr std::string_view kFixedStreams = "work on fixed streams, and allocate large buffers on one of them";

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

void add_place(const TraceData& data, FrameId site, const Place& place, Fragmentation& found) {
  if (place.streams.size() < 2) return;
  PoolSite& added = found.sites.emplace_back();
  added.site = describe_frame(data, site);
  added.streams = static_cast<std::int64_t>(place.streams.size());
  added.largest_block = place.largest->id;
  for (const auto& [stream, height] : place.streams) added.bytes.value += height.peak;
}

/// What each stream's blocks needed, and the places that allocate on several.
void add_streams(const TraceData& data, StringId device, Sites& sites, Fragmentation& found) {
  found.only_steps_kept = data.has_sums_only();
  std::map<std::int32_t, Height> streams;
  std::map<FrameId, Place> places;
  for_each_active_event(data, device, [&](const ActiveEvent& event) {
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
    ++found.blocks;
    if (block.stream == kNoStream) ++found.blocks_without_stream;
    if (place.largest == nullptr || block.bytes > place.largest->bytes) place.largest = &block;
  });
  std::int64_t sum = 0;
  for (const auto& [stream, height] : streams) {
    found.streams.push_back({stream, Bytes(height.peak)});
    sum += height.peak;
  }
  for (const auto& [site, place] : places) add_place(data, site, place, found);
  std::ranges::stable_sort(found.streams, [](const StreamPool& a, const StreamPool& b) { return a.peak > b.peak; });
  std::ranges::stable_sort(found.sites, [](const PoolSite& a, const PoolSite& b) { return a.bytes > b.bytes; });
  found.by_streams = Bytes(std::clamp<std::int64_t>(sum - found.active.value, 0, found.idle().value));
}

/// The last error of a device at which what was reserved and free was as much as was asked for.
struct FragmentedError {
  const OutOfMemory* oom = nullptr;
  bool without_device = false;  ///< the device need not have given anything more
};

FragmentedError error_on(const TraceData& data, StringId device) {
  FragmentedError error;
  for (const OutOfMemory& oom : data.out_of_memory) {
    if (oom.device != device || !oom.allocated || !oom.reserved) continue;
    const OomFigures figures{oom.requested.value, oom.allocated->value, oom.reserved->value,
                             oom.free ? std::optional(oom.free->value) : std::nullopt};
    const std::int64_t more = figures.is_limited() ? 0 : figures.free.value_or(0);
    if (figures.unused() <= 0 || figures.unused() + more < figures.requested) continue;
    error = {&oom, figures.is_fragmented()};
  }
  return error;
}

/// The places whose blocks alone keep most free bytes.
std::vector<KeepingPlace> keeping_places(const TraceData& data, StringId device, const ReservedAt& reserved,
                                         Sites& sites) {
  std::map<FrameId, std::int64_t> kept;
  for (const HeldSegment& held : reserved.held) {
    const FrameId site = sites.of(*held.blocks.front());
    const bool is_alone = std::ranges::all_of(held.blocks, [&](const Block* each) { return sites.of(*each) == site; });
    if (is_alone && site.valid()) kept[site] += held.free.value;
  }
  std::vector<std::pair<std::int64_t, FrameId>> most;
  for (const auto& [site, bytes] : kept) {
    if (matters(Bytes(bytes), reserved.reserved)) most.emplace_back(bytes, site);
  }
  std::ranges::sort(most, std::greater());
  if (most.size() > kMostPlaces) most.resize(kMostPlaces);
  std::vector<KeepingPlace> places;
  for (const auto& [bytes, site] : most) {
    KeepingPlace& place = places.emplace_back();
    place.site = describe_frame(data, site);
    for (const Block& block : data.blocks) {
      if (block.device == device && sites.of(block) == site) place.blocks.insert(&block);
    }
  }
  return places;
}

void add_remedies(const TraceData& data, StringId device, const OutOfMemory* error, const ReservedAt& reserved,
                  Sites& sites, Fragmentation& found) {
  const AllocatorRequests requests = requests_of(data, device);
  if (requests.events.size() > kMostEventsTried) {
    found.not_predicted = "the run has " + grouped(static_cast<std::int64_t>(requests.events.size())) +
                          " allocations and frees, which takes long: ask for a setting, with show reserved --if";
    return;
  }
  if (const ModelledRun run = modelled(requests); !run.can_predict()) {
    found.not_predicted = run.why_not;
    return;
  }
  found.remedies = remedies_of(requests, error != nullptr ? std::optional(error->seq) : std::nullopt,
                               keeping_places(data, device, reserved, sites));
}

TimeNs time_of_request(const TraceData& data, Sequence at) {
  const auto block =
      std::ranges::lower_bound(data.blocks_by_begin, at, {}, [](const auto& each) { return each.first; });
  return block != data.blocks_by_begin.end() ? block->second->span.from_ns : TimeNs();
}

Fragmentation fragmentation_of(const TraceData& data, const Releases& releases, const DevicePeaks& peaks,
                               const OutOfMemory* error) {
  Fragmentation found;
  found.device = data.text(peaks.device);
  found.reserved = *peaks.reserved;
  found.active = *peaks.active;
  Sites sites(data);
  add_streams(data, peaks.device, sites, found);
  if (!has_segments(data, peaks.device)) {
    found.not_predicted = "the trace has no segments of the allocator";
    return found;
  }
  const Sequence at = error != nullptr ? error->seq : reserved_peak(data, peaks.device);
  const ReservedAt reserved = reserved_at(data, peaks.device, at);
  found.at_error = error != nullptr;
  found.at = RunPoint{at, error != nullptr ? error->ns : time_of_request(data, at)};
  if (const Step* step = step_at(releases.steps, at)) found.step = step->number;
  found.stream = reserved.stream;
  found.rows = reserved.rows;
  found.kept_segments = static_cast<std::int64_t>(reserved.held.size());
  found.kept = kept_segments(data, HolderNames(data), reserved, kMostKeptShown);
  add_remedies(data, peaks.device, error, reserved, sites, found);
  return found;
}

std::string why_of_remedy(const Remedy& remedy) {
  switch (remedy.kind) {
    case RemedyKind::kOneStream:
      return "a cached block serves the stream only on which it was allocated, so each stream's pool grew to that "
             "stream's own peak";
    case RemedyKind::kOnePool:
      return "what is free in the private pool of one graph, or in one MemPool, serves no other";
    case RemedyKind::kOwnPool:
      return "its blocks live on in segments that were made for others: the rest of these is free, but in pieces that "
             "no request fitted";
    case RemedyKind::kWithoutSetting:
      return "with " + remedy.change + " the allocator reserves more than without it";
    case RemedyKind::kSetting:
      break;
  }
  return "what was cached lay in pieces that no request fitted";
}

bool mostly_by_streams(const Fragmentation& found) { return found.by_streams.value * 2 > found.idle().value; }

std::string why_unknown(const Fragmentation& found) {
  if (mostly_by_streams(found)) {
    return "at least half of it because a cached block serves the stream only on which it was allocated; what else is "
           "not known: " +
           *found.not_predicted;
  }
  return "not known: " + *found.not_predicted;
}

std::string fix_of_fragmentation(const Fragmentation& found) {
  const Remedy* best = found.best();
  if (found.not_predicted && mostly_by_streams(found)) return std::string(kFixedStreams);
  if (best == nullptr) {
    return found.not_predicted ? "try PYTORCH_ALLOC_CONF=expandable_segments:True; whether it helps is not known"
                               : "no setting of these helps: need less at once, or fewer sizes that differ";
  }
  switch (best->kind) {
    case RemedyKind::kSetting:
      return "PYTORCH_ALLOC_CONF=" + best->settings;
    case RemedyKind::kWithoutSetting:
      return "PYTORCH_ALLOC_CONF without " + best->change;
    case RemedyKind::kOneStream:
      return std::string(kFixedStreams);
    case RemedyKind::kOnePool:
      return "let the graphs share a pool: torch.cuda.graph(g, pool=first.pool())";
    case RemedyKind::kOwnPool:
      return "allocate what " + best->change +
             " makes before what is large and freed, or in a pool of its own (torch.cuda.use_mem_pool)";
  }
  return {};
}

/// Blocks are in use with their rounding, so idle bytes do not show it.
bool rounds_to_powers(const TraceData& data, StringId device) {
  const std::optional<std::int64_t> gpu = gpu_of(data, device);
  return std::ranges::any_of(data.allocators.setups, [&](const AllocatorSetup& setup) {
    return setup.gpu == gpu && data.text(setup.settings).find("roundup_power2_divisions") != std::string_view::npos;
  });
}

}  // namespace

std::vector<Finding> fragmented(const TraceData& data, const Releases& releases) {
  std::vector<Finding> findings;
  // More may have been active before a history began.
  if (const std::string_view history = data.meta_text(meta::kHistory); !history.empty() && history != "whole")
    return findings;
  for (const DevicePeaks& peaks : data.device_peaks) {
    if (!peaks.active || !peaks.reserved) continue;
    const bool is_much = matters(Bytes(peaks.reserved->value - peaks.active->value), *peaks.reserved);
    const FragmentedError error = error_on(data, peaks.device);
    if (!is_much && error.oom == nullptr && !rounds_to_powers(data, peaks.device)) continue;
    Fragmentation found = fragmentation_of(data, releases, peaks, error.oom);
    const Remedy* best = found.best();
    const bool is_one = found.not_predicted ? is_much : best != nullptr || error.without_device;
    if (!is_one) continue;
    Finding& finding = findings.emplace_back();
    finding.rule = "fragmented";
    finding.title = "fragmented";
    finding.classes.emplace_back("D09");
    finding.confidence = found.not_predicted ? Confidence::kUnknown : Confidence::kCertain;
    finding.device = peaks.device;
    finding.bytes = best != nullptr && best->gives_back.value > 0 ? best->gives_back : found.idle();
    finding.why = found.not_predicted ? why_unknown(found)
                  : best != nullptr   ? why_of_remedy(*best)
                                      : "what was free lay in pieces that the request did not fit";
    finding.fix = fix_of_fragmentation(found);
    finding.fragmentation = std::move(found);
  }
  return findings;
}

}  // namespace dcmt::analyzer::rules
