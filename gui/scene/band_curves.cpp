#include "gui/scene/band_curves.h"

#include <algorithm>

#include "gui/scene/gallop.h"

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

void BandCurves::read(const Band& band, std::size_t leaf, Read& read) const {
  if (read.leaf == leaf) return;
  read.leaf = leaf;
  const std::size_t first = leaf * kLeaf;
  const std::size_t count = std::min(kLeaf, band.changes.size() - first);
  recording_->deltas(
      count, [&](std::size_t i) { return band.changes[first + i]; }, read.bytes.data());
  std::int64_t bytes = leaf == 0 ? 0 : band.leaves[leaf - 1].last;
  for (std::size_t i = 0; i < count; ++i) read.bytes[i] = bytes += read.bytes[i];
}

std::int64_t BandCurves::highest(const Band& band, std::size_t first, std::size_t end, Read& read) const {
  std::int64_t highest = 0;
  while (first < end) {
    if (first % (kLeaf * kLeaf) == 0 && first + kLeaf * kLeaf <= end) {
      highest = std::max(highest, band.branches[first / (kLeaf * kLeaf)]);
      first += kLeaf * kLeaf;
      continue;
    }
    const std::size_t leaf = first / kLeaf;
    const std::size_t next = std::min(end, (leaf + 1) * kLeaf);
    if (first % kLeaf == 0 && (next % kLeaf == 0 || next == band.changes.size())) {
      highest = std::max(highest, band.leaves[leaf].highest);
    } else {
      this->read(band, leaf, read);
      for (std::size_t i = first; i < next; ++i) highest = std::max(highest, read.bytes[i - leaf * kLeaf]);
    }
    first = next;
  }
  return highest;
}

void BandCurves::highest(std::size_t band, std::span<const Column> columns, std::span<std::int64_t> found) const {
  const Band& of = bands_[band];
  const auto count = of.changes.size();
  Read read;
  std::size_t first = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    first = gallop(first, count, [&](std::size_t at) { return of.changes[at] <= columns[i].from; });
    const std::size_t end = gallop(first, count, [&](std::size_t at) { return of.changes[at] < columns[i].to; });
    // What the change before has left is there when the column begins.
    found[i] = highest(of, first > 0 ? first - 1 : 0, end, read);
  }
}

}  // namespace dcmt::gui::scene
