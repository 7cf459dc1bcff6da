// The bytes of each band over time. They are drawn for bands whose lanes are hidden.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "render/scene/recording.h"
#include "render/scene/view.h"

namespace dcmt::scene {

/// Thread-safety: const after construction.
class BandCurves {
 public:
  BandCurves(const Recording& recording, std::size_t bands);
  /// @param band_of  the band of each lifetime; values from `bands` on mean none
  BandCurves(const Recording& recording, std::size_t bands, const std::vector<std::uint32_t>& band_of);

  /// The maximum of a band's bytes in each of consecutive columns.
  void highest(std::size_t band, std::span<const Column> columns, std::span<std::int64_t> found) const;
  /// The maximum in the whole recording.
  [[nodiscard]] std::int64_t peak(std::size_t band) const { return bands_[band].peak; }

 private:
  static constexpr std::size_t kLeaf = 16;               ///< number of changes
  static constexpr std::size_t kBranch = kLeaf * kLeaf;  ///< number of changes

  struct Band {
    std::vector<Unit> changes;                   ///< units at whose begin the bytes change
    std::vector<std::int64_t> bytes;             ///< bytes after each change
    std::vector<std::int64_t> leaves, branches;  ///< the maximum of each kLeaf and kBranch changes
    std::int64_t peak = 0;
  };

  /// The maximum after the changes [first, end).
  [[nodiscard]] static std::int64_t highest(const Band& band, std::size_t first, std::size_t end);

  template <class BandOf>
  void add(const Recording& recording, const BandOf& band_of);

  std::vector<Band> bands_;
};

}  // namespace dcmt::scene
