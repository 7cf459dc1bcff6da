// The allocated curve, and what it consists of, in columns: exact at every column's highest point, whatever the zoom.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gui/scene/recording.h"
#include "gui/scene/view.h"

namespace dcmt::gui::scene {

using GroupBytes = std::array<std::int64_t, kGroups>;

/// Of the units of a column.
struct CurveColumn {
  std::int64_t lowest = 0, highest = 0;
  Unit highest_at = 0;  ///< the first of its units with the highest bytes
};

/// Bytes that are left out of the curve from a unit on (negative), or come back.
struct LeftOut {
  Unit unit = 0;
  std::int64_t delta = 0;
};

/// A pyramid over units: nodes of 64, then of 4 nodes each. `recording` must outlive it. Thread-safety: const after
/// construction.
class Curve {
 public:
  explicit Curve(const Recording& recording);
  /// Without its groups, so that those of the recording may change meanwhile.
  /// @param left_out  ascending by unit
  Curve(const Recording& recording, std::vector<LeftOut> left_out);

  /// Of columns that follow each other. What lies at the edge of two is read once.
  void columns(std::span<const Column> columns, std::span<CurveColumn> found) const;
  [[nodiscard]] CurveColumn column(Unit from, Unit to) const;
  /// Bytes of each group in one unit. Not of a curve that leaves something out.
  [[nodiscard]] GroupBytes groups_at(Unit unit) const;
  [[nodiscard]] std::int64_t at(Unit unit) const { return column(unit, unit + 1).highest; }
  /// Bytes that are left out in one unit; 0 or more.
  [[nodiscard]] std::int64_t left_out_at(Unit unit) const;
  [[nodiscard]] std::int64_t peak() const { return peak_.highest; }
  [[nodiscard]] Unit peak_at() const { return peak_.highest_at; }

  /// After the groups of the recording have changed.
  void find_groups();

 private:
  static constexpr Unit kLeaf = 64, kFan = 4;

  /// The bytes in each unit of one of the finest nodes.
  struct Leaf {
    std::size_t index = std::numeric_limits<std::size_t>::max();  ///< of the node; this one: none was read
    std::array<std::int64_t, kLeaf> bytes;
  };

  [[nodiscard]] CurveColumn column(Unit from, Unit to, Leaf& leaf) const;
  void visit(std::size_t level, std::size_t node, Unit from, Unit to, Leaf& leaf, CurveColumn& found) const;
  void read(std::size_t index, Leaf& leaf) const;

  const Recording* recording_;
  std::vector<LeftOut> left_out_;
  std::vector<std::int64_t> left_out_sums_;      ///< after each of them
  std::vector<std::vector<CurveColumn>> nodes_;  ///< by level, the finest first
  std::vector<GroupBytes> groups_;               ///< of the finest nodes, at their highest
  CurveColumn peak_;
};

}  // namespace dcmt::gui::scene
