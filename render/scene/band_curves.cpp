#include "render/scene/band_curves.h"

#include <algorithm>

#include "render/scene/gallop.h"

namespace dcmt::scene {

BandCurves::BandCurves(const Recording& recording, std::size_t bands) : bands_(bands) {
  add(recording, [&](LifetimeId lifetime) { return recording.lifetimes()[lifetime].band; });
}

BandCurves::BandCurves(const Recording& recording, std::size_t bands, const std::vector<std::uint32_t>& band_of)
    : bands_(bands) {
  add(recording, [&](LifetimeId lifetime) { return band_of[lifetime]; });
}

template <class BandOf>
void BandCurves::add(const Recording& recording, const BandOf& band_of) {
  for (Unit unit = 0; unit < recording.units(); ++unit) {
    const Recording::Event event = recording.event(unit);
    if (event.kind != Recording::Kind::kBegin && event.kind != Recording::Kind::kEnd) continue;
    const std::size_t index = band_of(event.index);
    if (index >= bands_.size()) continue;
    Band& band = bands_[index];
    const std::int64_t bytes = (band.bytes.empty() ? 0 : band.bytes.back()) + recording.change(unit).delta;
    if (band.changes.size() % kLeaf == 0) band.leaves.push_back(bytes);
    if (band.changes.size() % kBranch == 0) band.branches.push_back(bytes);
    band.changes.push_back(unit);
    band.bytes.push_back(bytes);
    for (std::int64_t* highest : {&band.leaves.back(), &band.branches.back(), &band.peak}) {
      *highest = std::max(*highest, bytes);
    }
  }
}

std::int64_t BandCurves::highest(const Band& band, std::size_t first, std::size_t end) {
  std::int64_t highest = 0;
  while (first < end) {
    if (first % kBranch == 0 && first + kBranch <= end) {
      highest = std::max(highest, band.branches[first / kBranch]);
      first += kBranch;
    } else if (first % kLeaf == 0 && first + kLeaf <= end) {
      highest = std::max(highest, band.leaves[first / kLeaf]);
      first += kLeaf;
    } else {
      highest = std::max(highest, band.bytes[first++]);
    }
  }
  return highest;
}

void BandCurves::highest(std::size_t band, std::span<const Column> columns, std::span<std::int64_t> found) const {
  const Band& of = bands_[band];
  const auto count = of.changes.size();
  std::size_t first = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    first = gallop(first, count, [&](std::size_t at) { return of.changes[at] <= columns[i].from; });
    const std::size_t end = gallop(first, count, [&](std::size_t at) { return of.changes[at] < columns[i].to; });
    // The value left by the change before holds at the begin of the column.
    found[i] = highest(of, first > 0 ? first - 1 : 0, end);
  }
}

}  // namespace dcmt::scene
