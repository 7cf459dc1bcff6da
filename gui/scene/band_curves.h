// The bytes of each band over time, for bands whose lanes are not shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gui/scene/recording.h"
#include "gui/scene/view.h"

namespace dcmt::gui::scene {

/// `recording` must outlive it. Thread-safety: const after construction.
class BandCurves {
 public:
  BandCurves(const Recording& recording, std::size_t bands);
  /// @param band_of  of each lifetime; `bands` or more: none
  BandCurves(const Recording& recording, std::size_t bands, const std::vector<std::uint32_t>& band_of);

  /// The most bytes of a band in each of columns that follow each other. What lies at the edge of two is read once.
  void highest(std::size_t band, std::span<const Column> columns, std::span<std::int64_t> found) const;
  /// In the whole recording.
  [[nodiscard]] std::int64_t peak(std::size_t band) const { return bands_[band].peak; }

 private:
  static constexpr std::size_t kLeaf = 16;

  struct Leaf {
    std::int64_t highest = 0, last = 0;  ///< after its changes; after the last of them
  };
  struct Band {
    std::vector<Unit> changes;  ///< units at whose begin its bytes change
    std::vector<Leaf> leaves;
    std::vector<std::int64_t> branches;  ///< the highest of each kLeaf leaves
    std::int64_t peak = 0;
  };

  /// The bytes after each change of a leaf.
  struct Read {
    std::size_t leaf = std::numeric_limits<std::size_t>::max();  ///< this one: none was read
    std::array<std::int64_t, kLeaf> bytes;
  };

  void read(const Band& band, std::size_t leaf, Read& read) const;
  /// After the changes [first, end).
  [[nodiscard]] std::int64_t highest(const Band& band, std::size_t first, std::size_t end, Read& read) const;

  template <class BandOf>
  void add(const BandOf& band_of);

  const Recording* recording_;
  std::vector<Band> bands_;
};

}  // namespace dcmt::gui::scene
