// The bytes of each band over time, for bands whose lanes are not shown.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/scene/recording.h"

namespace dcmt::gui::scene {

/// `recording` must outlive it. Thread-safety: const after construction.
class BandCurves {
 public:
  BandCurves(const Recording& recording, std::size_t bands);
  /// @param band_of  of each lifetime; `bands` or more: none
  BandCurves(const Recording& recording, std::size_t bands, const std::vector<std::uint32_t>& band_of);

  /// The most bytes of a band in the units [from, to).
  [[nodiscard]] std::int64_t highest(std::size_t band, Unit from, Unit to) const;
  /// In the whole recording.
  [[nodiscard]] std::int64_t peak(std::size_t band) const { return bands_[band].peak; }

 private:
  static constexpr std::size_t kLeaf = 64;

  struct Leaf {
    std::int64_t highest = 0, last = 0;  ///< after its changes; after the last of them
  };
  struct Band {
    std::vector<Unit> changes;  ///< units at whose begin its bytes change
    std::vector<Leaf> leaves;
    std::vector<std::int64_t> branches;  ///< the highest of each kLeaf leaves
    std::int64_t peak = 0;
  };

  template <class BandOf>
  void add(const BandOf& band_of);

  const Recording* recording_;
  std::vector<Band> bands_;
};

}  // namespace dcmt::gui::scene
