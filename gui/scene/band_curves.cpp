#include "gui/scene/band_curves.h"

#include <algorithm>

namespace dcmt::gui::scene {

BandCurves::BandCurves(const Recording& recording, std::size_t bands) : recording_(&recording), bands_(bands) {
  add([&](LifetimeId lifetime) { return recording.lifetimes()[lifetime].band; });
}

BandCurves::BandCurves(const Recording& recording, std::size_t bands, const std::vector<std::uint32_t>& band_of)
    : recording_(&recording), bands_(bands) {
  add([&](LifetimeId lifetime) { return band_of[lifetime]; });
}

template <class BandOf>
void BandCurves::add(const BandOf& band_of) {
  const Recording& recording = *recording_;
  for (Unit unit = 0; unit < recording.units(); ++unit) {
    const Recording::Event event = recording.event(unit);
    if (event.kind != Recording::Kind::kBegin && event.kind != Recording::Kind::kEnd) continue;
    const std::size_t index = band_of(event.index);
    if (index >= bands_.size()) continue;
    Band& band = bands_[index];
    const std::int64_t before = band.leaves.empty() ? 0 : band.leaves.back().last;
    const std::int64_t bytes = before + recording.change(unit).delta;
    if (band.changes.size() % kLeaf == 0) band.leaves.push_back({bytes, bytes});
    band.changes.push_back(unit);
    Leaf& leaf = band.leaves.back();
    leaf.highest = std::max(leaf.highest, bytes);
    leaf.last = bytes;
    band.peak = std::max(band.peak, bytes);
    const std::size_t branch = (band.leaves.size() - 1) / kLeaf;
    if (branch == band.branches.size()) band.branches.push_back(bytes);
    band.branches[branch] = std::max(band.branches[branch], bytes);
  }
}

std::int64_t BandCurves::highest(std::size_t band, Unit from, Unit to) const {
  const Band& of = bands_[band];
  const auto begin = of.changes.begin();
  auto first = static_cast<std::size_t>(std::upper_bound(begin, of.changes.end(), from) - begin);
  const auto end = static_cast<std::size_t>(
      std::lower_bound(begin + static_cast<std::ptrdiff_t>(first), of.changes.end(), to) - begin);
  if (first > 0) --first;  // what the change before has left is there at `from`
  std::int64_t highest = 0;
  const auto walk = [&](std::size_t a, std::size_t b) {  // within one leaf
    const std::size_t leaf = a / kLeaf;
    std::int64_t bytes = leaf == 0 ? 0 : of.leaves[leaf - 1].last;
    for (std::size_t i = leaf * kLeaf; i < b; ++i) {
      bytes += recording_->change(of.changes[i]).delta;
      if (i >= a) highest = std::max(highest, bytes);
    }
  };
  while (first < end) {
    if (first % (kLeaf * kLeaf) == 0 && first + kLeaf * kLeaf <= end) {
      highest = std::max(highest, of.branches[first / (kLeaf * kLeaf)]);
      first += kLeaf * kLeaf;
      continue;
    }
    const std::size_t next = std::min(end, (first / kLeaf + 1) * kLeaf);
    const bool whole = first % kLeaf == 0 && (next % kLeaf == 0 || next == of.changes.size());
    if (whole) {
      highest = std::max(highest, of.leaves[first / kLeaf].highest);
    } else {
      walk(first, next);
    }
    first = next;
  }
  return highest;
}

}  // namespace dcmt::gui::scene
