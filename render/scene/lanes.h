// Lifetimes as bars in lanes. Lifetimes in a lane do not overlap. A band contains the lanes of one group.
//
// In the order of events, each lifetime gets the lowest free lane of its band, so long-lived ones are at the bottom.
// Each lane is also stored in folded levels: lifetimes that begin within 16, 32, ... units of each other form one run.
// For each lane, a frame reads the level that fits its columns, so that its cost depends on the number of pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "render/scene/recording.h"
#include "render/scene/view.h"

namespace dcmt::scene {

/// The contents of a column of a lane.
struct Cell {
  float busy = 0;                     ///< part of the column; above 0 if a lifetime touches it
  LifetimeId lifetime = kNoLifetime;  ///< the longest lifetime that touches it
  Unit length = 0;                    ///< of `lifetime`
  std::uint8_t group = 0;             ///< of `lifetime`
  bool finding = false;               ///< a finding is about a lifetime that touches it
  bool many = false;                  ///< several lifetimes touch it
};

/// A lifetime drawn as a separate bar: columns [from, to).
struct Bar {
  LifetimeId lifetime = kNoLifetime;
  std::uint32_t from = 0, to = 0;
};

struct Hit {
  LifetimeId lifetime = kNoLifetime;  ///< the lifetime that covers most of the column
  std::uint32_t more = 0;             ///< number of other lifetimes that touch it
};

inline constexpr std::uint32_t kNoLane = 0xffffffff;

/// `recording` must outlive this object. Thread-safety: const after construction.
class Lanes {
 public:
  /// @param bands  number of bands; lifetimes with other bands get no lane
  Lanes(const Recording& recording, std::size_t bands);
  /// Uses given lanes.
  /// @param lane_of  by lifetime; kNoLane: none. Lifetimes of a lane must not overlap
  /// @param lanes_of_band  number of lanes by band; the lanes of bands are consecutive
  Lanes(const Recording& recording, std::vector<std::uint32_t> lane_of,
        const std::vector<std::uint32_t>& lanes_of_band);

  /// The lanes of a band are [first, first + count).
  struct Band {
    std::uint32_t first = 0, count = 0;
    std::uint32_t lifetimes = 0;
  };
  [[nodiscard]] const std::vector<Band>& bands() const { return bands_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(lanes_.size()); }
  [[nodiscard]] std::span<const LifetimeId> lane(std::uint32_t lane) const;
  /// kNoLane if it has none.
  [[nodiscard]] std::uint32_t lane_of(LifetimeId lifetime) const { return lane_of_[lifetime]; }
  [[nodiscard]] std::size_t band_of(std::uint32_t lane) const;

  /// Fills a cell for each column: `busy` is above 0 exactly if a lifetime of the lane touches the column. Adds
  /// lifetimes that touch at least `least` columns to `bars`. Returns the number of runs that were read. Allocates only
  /// for `bars`.
  std::uint32_t draw(std::uint32_t lane, std::span<const Column> columns, std::span<Cell> cells, std::uint32_t least,
                     std::vector<Bar>& bars) const;

  [[nodiscard]] std::optional<Hit> hit(std::uint32_t lane, Column column) const;
  /// The next lifetime of the same lane, or the previous one.
  [[nodiscard]] std::optional<LifetimeId> neighbour(LifetimeId lifetime, bool after) const;
  /// The lifetime of the lane that covers the unit or is nearest to it.
  [[nodiscard]] LifetimeId nearest(std::uint32_t lane, Unit unit) const;

  /// To be called after the groups of the recording have changed.
  void find_groups();

 private:
  struct Run {
    Unit from = 0, to = 0;
    std::uint32_t busy = 0;   ///< number of units in all its lifetimes
    std::uint32_t first = 0;  ///< index in the next finer level
    LifetimeId longest = kNoLifetime;
    Unit length = 0;         ///< of `longest`
    std::uint8_t group = 0;  ///< of `longest`
    bool single = false;     ///< contains only one lifetime
    bool finding = false;    ///< a finding is about one of its lifetimes
  };
  struct Lane {
    std::uint32_t first = 0, count = 0;    ///< in items_
    std::vector<std::vector<Run>> levels;  ///< the finest first
    std::vector<Unit> grains;              ///< by level
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
  std::vector<LifetimeId> items_;       ///< lifetimes lane by lane
  std::vector<std::uint32_t> lane_of_;  ///< by lifetime
};

}  // namespace dcmt::scene
