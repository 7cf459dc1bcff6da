// The allocated curve and its composition in columns. The highest point of each column is exact at every zoom.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "render/scene/recording.h"
#include "render/scene/view.h"

namespace dcmt::scene {

using GroupBytes = std::array<std::int64_t, kGroups>;

/// The bytes in the units of a column.
struct CurveColumn {
  std::int64_t lowest = 0, highest = 0;
  Unit highest_at = 0;  ///< the first unit with the highest bytes
};

/// Bytes that the curve leaves out from a unit on (negative), or that return.
struct LeftOut {
  Unit unit = 0;
  std::int64_t delta = 0;
};

/// A pyramid over units: nodes of 64 units, then of 4 nodes each. `recording` must outlive this object.
/// Thread-safety: const after construction.
class Curve {
 public:
  explicit Curve(const Recording& recording);
  /// A curve without groups, so that groups of the recording may change in parallel.
  /// @param left_out  ascending by unit
  Curve(const Recording& recording, std::vector<LeftOut> left_out);

  /// Fills consecutive columns. Data at the edge of two columns is read once.
  void columns(std::span<const Column> columns, std::span<CurveColumn> found) const;
  [[nodiscard]] CurveColumn column(Unit from, Unit to) const;
  /// The bytes of each group in one unit. Only for a curve that leaves nothing out.
  [[nodiscard]] GroupBytes groups_at(Unit unit) const;
  [[nodiscard]] std::int64_t at(Unit unit) const { return column(unit, unit + 1).highest; }
  /// The bytes that are left out in one unit; not negative.
  [[nodiscard]] std::int64_t left_out_at(Unit unit) const;
  [[nodiscard]] std::int64_t peak() const { return peak_.highest; }
  [[nodiscard]] Unit peak_at() const { return peak_.highest_at; }

  /// To be called after the groups of the recording have changed.
  void find_groups();

 private:
  static constexpr Unit kLeaf = 64, kFan = 4;

  /// A cache of the bytes in each unit of one of the finest nodes.
  struct Leaf {
    std::size_t index = std::numeric_limits<std::size_t>::max();  ///< of the node; the initial value: none
    std::array<std::int64_t, kLeaf> bytes;
  };

  [[nodiscard]] CurveColumn column(Unit from, Unit to, Leaf& leaf) const;
  void visit(std::size_t level, std::size_t node, Unit from, Unit to, Leaf& leaf, CurveColumn& found) const;
  void read(std::size_t index, Leaf& leaf) const;

  const Recording* recording_;
  std::vector<LeftOut> left_out_;
  std::vector<std::int64_t> left_out_sums_;      ///< after each of `left_out_`
  std::vector<std::vector<CurveColumn>> nodes_;  ///< by level, the finest first
  std::vector<GroupBytes> groups_;               ///< of the finest nodes, at their highest unit
  CurveColumn peak_;
};

}  // namespace dcmt::scene
