#include "render/scene/lanes.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "render/scene/gallop.h"

namespace dcmt::scene {
namespace {

constexpr Unit kFirstGrain = 16;
/// Lanes with fewer lifetimes have no folded levels.
constexpr std::uint32_t kFewest = 32;
/// Lifetimes of a lane are far apart in memory, so this many are prefetched.
constexpr std::uint32_t kAhead = 8;

}  // namespace

Lanes::Lanes(const Recording& recording, std::size_t bands) : recording_(&recording), bands_(bands) {
  using LowestFirst = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;
  const std::vector<Lifetime>& lifetimes = recording.lifetimes();
  std::vector<LowestFirst> free(bands);
  lane_of_.assign(lifetimes.size(), kNoLane);  // at first, the lane within the band
  for (Unit unit = 0; unit < recording.units(); ++unit) {
    const Recording::Event event = recording.event(unit);
    if (event.kind != Recording::Kind::kBegin && event.kind != Recording::Kind::kEnd) continue;
    const std::uint16_t band = lifetimes[event.index].band;
    if (band >= bands) continue;
    if (event.kind == Recording::Kind::kEnd) {
      free[band].push(lane_of_[event.index]);
    } else if (free[band].empty()) {
      lane_of_[event.index] = bands_[band].count++;
      ++bands_[band].lifetimes;
    } else {
      lane_of_[event.index] = free[band].top();
      free[band].pop();
      ++bands_[band].lifetimes;
    }
  }
  std::uint32_t first = 0;
  for (Band& band : bands_) {
    band.first = first;
    first += band.count;
  }
  lanes_.resize(first);
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    if (lane_of_[i] != kNoLane) lane_of_[i] += bands_[lifetimes[i].band].first;
  }
  put_in_lanes();
}

Lanes::Lanes(const Recording& recording, std::vector<std::uint32_t> lane_of,
             const std::vector<std::uint32_t>& lanes_of_band)
    : recording_(&recording), lane_of_(std::move(lane_of)) {
  std::uint32_t first = 0;
  for (const std::uint32_t count : lanes_of_band) {
    bands_.push_back({first, count, 0});
    first += count;
  }
  lanes_.resize(first);
  put_in_lanes();
  for (Band& band : bands_) {
    for (std::uint32_t lane = band.first; lane < band.first + band.count; ++lane) band.lifetimes += lanes_[lane].count;
  }
}

void Lanes::put_in_lanes() {
  for (const std::uint32_t lane : lane_of_) {
    if (lane != kNoLane) ++lanes_[lane].count;
  }
  std::uint32_t item = 0;
  for (Lane& lane : lanes_) {
    lane.first = item;
    item += lane.count;
    lane.count = 0;
  }
  items_.resize(item);
  for (std::size_t i = 0; i < lane_of_.size(); ++i) {  // in the order of their begins
    if (lane_of_[i] == kNoLane) continue;
    Lane& lane = lanes_[lane_of_[i]];
    items_[lane.first + lane.count++] = static_cast<LifetimeId>(i);
  }
  for (Lane& lane : lanes_) fold(lane);
}

std::size_t Lanes::band_of(std::uint32_t lane) const {
  const auto after = std::ranges::upper_bound(bands_, lane, {}, &Band::first);
  return static_cast<std::size_t>(after - bands_.begin()) - 1;
}

std::span<const LifetimeId> Lanes::lane(std::uint32_t lane) const {
  return std::span(items_).subspan(lanes_[lane].first, lanes_[lane].count);
}

Lanes::Run Lanes::run_of(LifetimeId lifetime) const {
  const Lifetime& of = recording_->lifetimes()[lifetime];
  const Unit length = of.to - of.from;
  return {of.from, of.to, length, 0, lifetime, length, of.group, true, of.finding};
}

std::uint32_t Lanes::runs(const Lane& lane, std::size_t level) const {
  return level == 0 ? lane.count : static_cast<std::uint32_t>(lane.levels[level - 1].size());
}

Lanes::Run Lanes::run(const Lane& lane, std::size_t level, std::uint32_t index) const {
  return level == 0 ? run_of(items_[lane.first + index]) : lane.levels[level - 1][index];
}

void Lanes::fold(Lane& lane) const {
  std::vector<Run> level;
  for (Unit grain = kFirstGrain; grain < recording_->units() && grain < (1U << 31U); grain *= 2) {
    const std::size_t finer = lane.levels.size();
    const std::uint32_t count = runs(lane, finer);
    if (count < kFewest) return;
    level.clear();
    bool open = false;  // the last run may get more lifetimes
    for (std::uint32_t i = 0; i < count; ++i) {
      Run next = run(lane, finer, i);
      next.first = i;
      const bool stays = next.to - next.from >= grain;
      if (open && !stays && next.from - level.back().from < grain) {
        Run& whole = level.back();
        whole.to = next.to;
        whole.busy += next.busy;
        whole.single = false;
        whole.finding |= next.finding;
        if (next.length > whole.length) {
          whole.longest = next.longest;
          whole.length = next.length;
          whole.group = next.group;
        }
      } else {
        level.push_back(next);
        open = !stays;
      }
    }
    if (level.size() > count / 3) continue;  // too fine to be worth its memory
    lane.levels.emplace_back(level.begin(), level.end());
    lane.grains.push_back(grain);
  }
}

struct Lanes::Drawing {
  std::span<const Column> columns;
  std::span<Cell> cells;
  std::uint32_t least = 0;
  std::vector<Bar>* bars = nullptr;
  std::uint32_t read = 0;
  std::uint32_t at = 0;  ///< runs from here on touch no column before this one

  void touch(std::uint32_t column, std::int64_t busy, const Run& run) {
    Cell& cell = cells[column];
    const Column& of = columns[column];
    cell.finding |= run.finding;
    cell.many = cell.lifetime != kNoLifetime || !run.single;
    if (run.length > cell.length) {
      cell.lifetime = run.longest;
      cell.length = run.length;
      cell.group = run.group;
    }
    cell.busy = std::min(1.0F, cell.busy + static_cast<float>(busy) / static_cast<float>(of.to - of.from));
  }
};

void Lanes::draw_runs(const Lane& lane, std::size_t level, std::uint32_t from, std::uint32_t to,
                      Drawing& drawing) const {
  const auto count = static_cast<std::uint32_t>(drawing.columns.size());
  const Unit begin = drawing.columns.front().from;
  const Unit end = drawing.columns.back().to;
  for (std::uint32_t i = from; i < to; ++i) {
    if (level == 0 && to - i > kAhead) __builtin_prefetch(&recording_->lifetimes()[items_[lane.first + i + kAhead]]);
    const Run run = this->run(lane, level, i);
    ++drawing.read;
    if (run.to <= begin) continue;
    if (run.from >= end) return;
    // Runs come in order, so their columns are near those of the last one.
    const std::span<const Column> columns = drawing.columns;
    const std::uint32_t first = gallop(drawing.at, count, [&](std::uint32_t c) { return columns[c].to <= run.from; });
    const std::uint32_t last = gallop(first + 1, count, [&](std::uint32_t c) { return columns[c].from < run.to; }) - 1;
    const bool cut = run.from < begin || run.to > end;
    if (!run.single && (last - first > 1 || cut)) {
      const std::uint32_t children =
          i + 1 < runs(lane, level) ? this->run(lane, level, i + 1).first : runs(lane, level - 1);
      draw_runs(lane, level - 1, run.first, children, drawing);
      continue;
    }
    drawing.at = first;
    if (run.single) {
      for (std::uint32_t column = first; column <= last; ++column) {
        const Column& of = drawing.columns[column];
        const std::int64_t busy = static_cast<std::int64_t>(std::min(of.to, run.to)) - std::max(of.from, run.from);
        drawing.touch(column, std::max<std::int64_t>(busy, 0), run);
      }
      if (last - first + 1 >= drawing.least) drawing.bars->push_back({run.longest, first, last + 1});
    } else if (first == last) {
      drawing.touch(first, run.busy, run);
    } else {
      drawing.touch(first, (run.busy + 1) / 2, run);
      drawing.touch(last, (run.busy + 1) / 2, run);
    }
  }
}

std::uint32_t Lanes::draw(std::uint32_t lane, std::span<const Column> columns, std::span<Cell> cells,
                          std::uint32_t least, std::vector<Bar>& bars) const {
  std::fill(cells.begin(), cells.end(), Cell{});
  const Lane& of = lanes_[lane];
  const Unit seen = columns.back().to - columns.front().from;
  const Unit each = std::max<Unit>(1, seen / static_cast<Unit>(columns.size()));
  std::size_t level = 0;
  while (level < of.levels.size() && of.grains[level] <= each) ++level;
  // The first run that may touch the columns. Runs do not overlap, so their ends are in order, too.
  std::uint32_t low = 0;
  std::uint32_t high = runs(of, level);
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (run(of, level, middle).to <= columns.front().from) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  Drawing drawing{columns, cells, least, &bars};
  draw_runs(of, level, low, runs(of, level), drawing);
  return drawing.read;
}

void Lanes::find_groups() {
  for (Lane& lane : lanes_) {
    for (std::vector<Run>& level : lane.levels) {
      for (Run& run : level) run.group = recording_->lifetimes()[run.longest].group;
    }
  }
}

std::optional<Hit> Lanes::hit(std::uint32_t lane, Column column) const {
  const std::span<const LifetimeId> items = this->lane(lane);
  const std::vector<Lifetime>& lifetimes = recording_->lifetimes();
  auto at = std::lower_bound(items.begin(), items.end(), column.from,
                             [&](LifetimeId id, Unit unit) { return lifetimes[id].to <= unit; });
  std::optional<Hit> hit;
  std::int64_t most = -1;
  for (; at != items.end() && lifetimes[*at].from < column.to; ++at) {
    const Lifetime& each = lifetimes[*at];
    const std::int64_t covered =
        static_cast<std::int64_t>(std::min(each.to, column.to)) - std::max(each.from, column.from);
    if (!hit)
      hit.emplace(Hit{*at, 0});
    else
      ++hit->more;
    if (covered > most) {
      most = covered;
      hit->lifetime = *at;
    }
  }
  return hit;
}

std::optional<LifetimeId> Lanes::neighbour(LifetimeId lifetime, bool after) const {
  if (lane_of_[lifetime] == kNoLane) return std::nullopt;
  const std::span<const LifetimeId> items = lane(lane_of_[lifetime]);
  const auto at = std::lower_bound(items.begin(), items.end(), lifetime);
  if (after) return at + 1 != items.end() ? std::optional(*(at + 1)) : std::nullopt;
  return at != items.begin() ? std::optional(*(at - 1)) : std::nullopt;
}

LifetimeId Lanes::nearest(std::uint32_t lane, Unit unit) const {
  const std::span<const LifetimeId> items = this->lane(lane);
  const std::vector<Lifetime>& lifetimes = recording_->lifetimes();
  const auto at =
      std::lower_bound(items.begin(), items.end(), unit, [&](LifetimeId id, Unit u) { return lifetimes[id].to <= u; });
  if (at == items.end()) return items.back();
  if (at == items.begin() || lifetimes[*at].from <= unit) return *at;
  return unit - lifetimes[*(at - 1)].to < lifetimes[*at].from - unit ? *(at - 1) : *at;
}

}  // namespace dcmt::scene
