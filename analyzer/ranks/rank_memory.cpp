#include "analyzer/ranks/rank_memory.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kNoticed = std::int64_t{1} << 20;
constexpr std::int64_t kNoticedShare = 20;  // a twentieth
constexpr std::size_t kMostPlaces = 5;
constexpr std::int64_t kWorthALine = 10;  // a place is shown if it differs by a tenth of the one that differs most

/// True if the difference matters, relative to the highest peak: batches need not be equal on all ranks.
bool noticed(std::int64_t bytes, Bytes highest) { return bytes >= kNoticed && bytes >= highest.value / kNoticedShare; }

/// Bytes by place while the blocks of a device begin and end.
class Places {
 public:
  explicit Places(const TraceData& data) : data_(data) {}

  void add(const Block& block, std::int64_t sign) {
    Height& height = heights_[site_of_block(block)];
    height.now.value += sign * block.bytes.value;
    height.changed = true;
    all_.value += sign * block.bytes.value;
  }

  void end_step(std::int64_t step, RankMemory& memory) {
    memory.steps.push_back(step);
    memory.ends.push_back(all_);
    for (auto& [site, height] : heights_) {
      if (!height.changed) continue;
      height.changed = false;
      if (height.ends.empty() ? height.now.value != 0 : height.ends.back().second != height.now) {
        height.ends.emplace_back(step, height.now);
      }
    }
  }

  void at_peak(Sequence peak, StringId device) {
    for (auto& [site, height] : heights_) height.at_peak = height.now;
    const HolderNames names(data_);
    std::map<FrameId, std::map<std::string, std::int64_t>> holders;
    for (const Block* block : live_blocks(data_, device, peak)) {
      if (!block->storage.valid()) continue;
      if (const std::optional<std::string> name = names.variable_of(block->storage)) {
        holders[site_of_block(*block)][*name] += block->bytes.value;
      }
    }
    for (const auto& [site, of_site] : holders) {
      heights_[site].holder =
          std::ranges::max_element(of_site, {}, [](const auto& each) { return each.second; })->first;
    }
  }

  void finish(RankMemory& memory) {
    std::map<std::string, RankMemory::Place> by_name;  // a line may have several frames: of functions with one name
    for (auto& [site, height] : heights_) {
      if (height.at_peak.value == 0 && height.ends.empty()) continue;
      RankMemory::Place place{describe_frame(data_, site), height.at_peak, std::move(height.holder),
                              std::move(height.ends)};
      const std::string name = place.site;
      by_name.try_emplace(name, std::move(place));
    }
    for (auto& [name, place] : by_name) memory.places.push_back(std::move(place));
  }

 private:
  struct Height {
    Bytes now, at_peak;
    std::optional<std::string> holder;
    bool changed = false;
    std::vector<std::pair<std::int64_t, Bytes>> ends;
  };

  FrameId site_of_block(const Block& block) {
    const auto [at, fresh] = sites_.try_emplace(block.birth.stack);
    if (fresh) at->second = site_of(data_, block.birth.stack);
    return at->second;
  }

  const TraceData& data_;
  std::map<StackId, FrameId> sites_;
  std::map<FrameId, Height> heights_;
  Bytes all_;
};

/// Groups ranks with the same value, the largest value first.
template <class Side, class Value>
std::vector<Side> sides_of(const std::vector<const RankMemory*>& ranks, const Value& value) {
  std::map<decltype(value(*ranks.front())), Ranks, std::greater<>> sides;
  for (const RankMemory* rank : ranks) sides[value(*rank)].push_back(rank->rank);
  std::vector<Side> list;
  for (auto& [of, numbers] : sides) list.push_back({std::move(numbers), of});
  return list;
}

const RankMemory::Place* place_of(const RankMemory& rank, const std::string& site) {
  const auto at = std::lower_bound(rank.places.begin(), rank.places.end(), site,
                                   [](const RankMemory::Place& place, const auto& name) { return place.site < name; });
  return at != rank.places.end() && at->site == site ? &*at : nullptr;
}

Bytes at_end(const RankMemory& rank, const std::string& site, std::int64_t step) {
  const RankMemory::Place* place = place_of(rank, site);
  if (place == nullptr) return Bytes(0);
  const auto after = std::upper_bound(place->at_ends.begin(), place->at_ends.end(), step,
                                      [](std::int64_t number, const auto& end) { return number < end.first; });
  return after == place->at_ends.begin() ? Bytes(0) : std::prev(after)->second;
}

std::vector<std::int64_t> steps_in_common(const std::vector<const RankMemory*>& ranks) {
  std::vector<std::int64_t> common = ranks.front()->steps;
  for (const RankMemory* rank : ranks) {
    std::erase_if(common,
                  [&](std::int64_t step) { return !std::binary_search(rank->steps.begin(), rank->steps.end(), step); });
  }
  return common;
}

Bytes end_of_step(const RankMemory& rank, std::int64_t step) {
  const auto at = std::lower_bound(rank.steps.begin(), rank.steps.end(), step);
  return rank.ends[static_cast<std::size_t>(at - rank.steps.begin())];
}

/// The first step from whose end on the ranks always differ at that place.
std::optional<std::int64_t> differs_from(const std::vector<const RankMemory*>& ranks, const std::string& site,
                                         const std::vector<std::int64_t>& steps) {
  std::optional<std::int64_t> from;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Bytes first = at_end(*ranks.front(), site, *step);
    const bool same =
        std::all_of(ranks.begin(), ranks.end(), [&](const RankMemory* r) { return at_end(*r, site, *step) == first; });
    if (same) break;
    from = *step;
  }
  return from;
}

std::vector<MemoryDifference::Place> places_that_differ(const std::vector<const RankMemory*>& ranks,
                                                        const std::vector<std::int64_t>& steps) {
  std::set<std::string> sites;
  for (const RankMemory* rank : ranks) {
    for (const RankMemory::Place& place : rank->places) sites.insert(place.site);
  }
  const auto spread = [](const MemoryDifference::Place& place) {
    return place.sides.front().bytes.value - place.sides.back().bytes.value;
  };
  std::vector<MemoryDifference::Place> places;
  for (const std::string& site : sites) {
    places.push_back({site,
                      sides_of<BytesOfRanks>(ranks,
                                             [&](const RankMemory& rank) {
                                               const RankMemory::Place* place = place_of(rank, site);
                                               return place != nullptr ? place->at_peak : Bytes(0);
                                             }),
                      std::nullopt, std::nullopt});
  }
  std::stable_sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return spread(a) > spread(b); });
  const std::int64_t most = places.empty() ? 0 : spread(places.front());
  std::erase_if(places, [&](const auto& place) { return spread(place) == 0 || spread(place) < most / kWorthALine; });
  if (places.size() > kMostPlaces) places.resize(kMostPlaces);
  for (MemoryDifference::Place& place : places) {
    place.from_step = differs_from(ranks, place.site, steps);
    const auto most_of_it = std::ranges::find(ranks, place.sides.front().ranks.front(), &RankMemory::rank);
    if (const RankMemory::Place* there = place_of(**most_of_it, place.site)) place.holder = there->holder;
  }
  return places;
}

}  // namespace

RankMemory rank_memory(const Analysis& analysis) {
  const TraceData& data = *analysis.data;
  const DeviceAnalysis& device = analysis.main();
  RankMemory memory;
  memory.rank = analysis.facts.rank;
  memory.peak = device.what_if.measured.bytes;
  const Sequence peak = device.what_if.measured.seq;
  Places places(data);
  auto begin = data.blocks_by_begin.begin();
  auto end = data.blocks_by_end.begin();
  const auto go_to = [&](Sequence to) {  // processes all events up to `to`
    for (; begin != data.blocks_by_begin.end() && begin->first <= to; ++begin) {
      if (begin->second->device == device.device) places.add(*begin->second, 1);
    }
    for (; end != data.blocks_by_end.end() && end->first <= to; ++end) {
      if (end->second->device == device.device) places.add(*end->second, -1);
    }
  };
  bool at_peak = !peak.valid() || data.sums_only_at(peak) != nullptr;  // else what was alive then is unknown
  for (const Step& step : analysis.releases.steps) {
    if (!step.to.valid() || step.sums.valid()) continue;
    if (!at_peak && peak < step.to) {
      go_to(peak);
      places.at_peak(peak, device.device);
      at_peak = true;
    }
    go_to(Sequence(step.to.value - 1));
    places.end_step(step.number, memory);
  }
  if (!at_peak) {
    go_to(peak);
    places.at_peak(peak, device.device);
  }
  places.finish(memory);
  return memory;
}

std::vector<BytesOfRanks> peaks_apart(const MemoryDifference& memory) {
  std::vector<BytesOfRanks> apart;
  for (const BytesOfRanks& side : memory.peaks) {
    if (apart.empty() || noticed(apart.back().bytes.value - side.bytes.value, memory.peaks.front().bytes)) {
      apart.push_back(side);
    } else {
      Ranks& ranks = apart.back().ranks;
      ranks.insert(ranks.end(), side.ranks.begin(), side.ranks.end());
    }
  }
  for (BytesOfRanks& side : apart) std::ranges::sort(side.ranks);
  return apart;
}

std::optional<MemoryDifference> compare_memory(const std::vector<const RankMemory*>& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  MemoryDifference difference;
  difference.peaks = sides_of<BytesOfRanks>(ranks, [](const RankMemory& rank) { return rank.peak; });
  const Bytes highest = difference.peaks.front().bytes;
  bool differs = noticed(highest.value - difference.peaks.back().bytes.value, highest);

  const std::vector<std::int64_t> steps = steps_in_common(ranks);
  if (steps.size() > 1) {
    difference.first = steps.front();
    difference.last = steps.back();
    const std::int64_t count = difference.last - difference.first;
    const auto gained = [&](const RankMemory& rank) {
      return end_of_step(rank, difference.last).value - end_of_step(rank, difference.first).value;
    };
    difference.growth = sides_of<MemoryDifference::Growth>(
        ranks, [&](const RankMemory& rank) { return gained(rank) / std::max<std::int64_t>(1, count); });
    const auto [least, most] = std::minmax_element(
        ranks.begin(), ranks.end(), [&](const RankMemory* a, const RankMemory* b) { return gained(*a) < gained(*b); });
    differs = differs || noticed(gained(**most) - gained(**least), highest);
  }
  if (!differs) return std::nullopt;
  difference.places = places_that_differ(ranks, steps);
  return difference;
}

}  // namespace dcmt::analyzer
