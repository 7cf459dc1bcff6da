// Lifetimes as bars in lanes: in a lane they are apart, and a band is the lanes of one group.
//
// In the order of events a lifetime takes the lowest free lane of its band, so long-lived ones sink. A lane is kept
// folded, too: what begins within 16, 32, ... units of each other is one run. A frame reads of each lane the level that
// its columns need, so that it costs what its pixels cost.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gui/scene/recording.h"
#include "gui/scene/view.h"

namespace dcmt::gui::scene {

/// What a lane has in a column.
struct Cell {
  float busy = 0;                     ///< share of the column; above 0 if a lifetime touches it
  LifetimeId lifetime = kNoLifetime;  ///< one that touches it, the longest there
  Unit length = 0;                    ///< of it
  std::uint8_t group = 0;             ///< of it
  bool finding = false;               ///< a finding is about one that touches it
  bool many = false;                  ///< others touch it, too
};

/// One lifetime that is drawn as a bar of its own: columns [from, to).
struct Bar {
  LifetimeId lifetime = kNoLifetime;
  std::uint32_t from = 0, to = 0;
};

struct Hit {
  LifetimeId lifetime = kNoLifetime;  ///< the one that covers most of the column
  std::uint32_t more = 0;             ///< others that touch it
};

inline constexpr std::uint32_t kNoLane = 0xffffffff;

/// `recording` must outlive it. Thread-safety: const after construction.
class Lanes {
 public:
  /// @param bands  how many there are; lifetimes of other bands are in no lane
  Lanes(const Recording& recording, std::size_t bands);
  /// Lanes that something else decides.
  /// @param lane_of  of each lifetime, kNoLane: none; those of a lane are apart
  /// @param lanes_of_band  how many lanes each band has, one band after the other
  Lanes(const Recording& recording, std::vector<std::uint32_t> lane_of,
        const std::vector<std::uint32_t>& lanes_of_band);

  /// Lanes of a band are [first, first + count).
  struct Band {
    std::uint32_t first = 0, count = 0;
    std::uint32_t lifetimes = 0;
  };
  [[nodiscard]] const std::vector<Band>& bands() const { return bands_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(lanes_.size()); }
  [[nodiscard]] std::span<const LifetimeId> lane(std::uint32_t lane) const;
  /// kNoLane: none.
  [[nodiscard]] std::uint32_t lane_of(LifetimeId lifetime) const { return lane_of_[lifetime]; }
  [[nodiscard]] std::size_t band_of(std::uint32_t lane) const;

  /// Fills a cell for each column: `busy` above 0 exactly where a lifetime of the lane touches the column. Adds to
  /// `bars` those that touch at least `least` columns. Returns how many runs were read. Allocates nothing but for
  /// `bars`.
  std::uint32_t draw(std::uint32_t lane, std::span<const Column> columns, std::span<Cell> cells, std::uint32_t least,
                     std::vector<Bar>& bars) const;

  [[nodiscard]] std::optional<Hit> hit(std::uint32_t lane, Column column) const;
  /// The nearest lifetime of the lane after (or before) one of it.
  [[nodiscard]] std::optional<LifetimeId> neighbour(LifetimeId lifetime, bool after) const;
  /// Of the lane, the one that covers the unit or comes nearest to it.
  [[nodiscard]] LifetimeId nearest(std::uint32_t lane, Unit unit) const;

  /// After the groups of the recording have changed.
  void find_groups();

 private:
  struct Run {
    Unit from = 0, to = 0;
    std::uint32_t busy = 0;   ///< units, of all its lifetimes
    std::uint32_t first = 0;  ///< of the next finer level
    LifetimeId longest = kNoLifetime;
    Unit length = 0;         ///< of the longest
    std::uint8_t group = 0;  ///< of the longest
    bool single = false;     ///< one lifetime
    bool finding = false;    ///< a finding is about one of them
  };
  struct Lane {
    std::uint32_t first = 0, count = 0;    ///< in items_
    std::vector<std::vector<Run>> levels;  ///< the finest first
    std::vector<Unit> grains;              ///< of each level
  };
  struct Drawing;

  void put_in_lanes();
  void fold(Lane& lane) const;
  [[nodiscard]] Run run_of(LifetimeId lifetime) const;
  [[nodiscard]] Run run(const Lane& lane, std::size_t level, std::uint32_t index) const;
  [[nodiscard]] std::uint32_t runs(const Lane& lane, std::size_t level) const;
  void draw_runs(const Lane& lane, std::size_t level, std::uint32_t from, std::uint32_t to, Drawing& drawing) const;

  const Recording* recording_;
  std::vector<Band> bands_;
  std::vector<Lane> lanes_;
  std::vector<LifetimeId> items_;       ///< of all lanes, one lane after the other
  std::vector<std::uint32_t> lane_of_;  ///< by lifetime
};

}  // namespace dcmt::gui::scene
