// The visible range of a recording, and the columns in which it is drawn.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "render/scene/recording.h"

namespace dcmt::scene {

enum class Axis : std::uint8_t {
  kTime,    ///< x is nanoseconds since the begin of the recording
  kEvents,  ///< x is units: all events have the same width
};

/// The range [from, to) of an axis. Moving and zooming keep it inside of the recording, and at least one event or one
/// nanosecond wide.
class View {
 public:
  /// The whole recording.
  View(const Recording& recording, Axis axis);

  [[nodiscard]] Axis axis() const { return axis_; }
  [[nodiscard]] double from() const { return from_; }
  [[nodiscard]] double to() const { return to_; }
  [[nodiscard]] double length() const { return whole_; }
  [[nodiscard]] bool whole() const { return from_ <= 0 && to_ >= whole_; }

  void show(double from, double to);
  void pan(double share) { show(from_ + share * (to_ - from_), to_ + share * (to_ - from_)); }
  /// @param factor  above 1 zooms in
  /// @param at  0 to 1: the position that stays fixed
  void zoom(double factor, double at);
  /// Shows a range of units, with some space around it.
  void fit(const Recording& recording, Unit from, Unit to);
  /// Shows the same range of the recording on the other axis.
  void set_axis(const Recording& recording, Axis axis);

  [[nodiscard]] double x_of(const Recording& recording, Unit unit) const;
  [[nodiscard]] Unit unit_of(const Recording& recording, double x) const;

  friend bool operator==(const View&, const View&) = default;

 private:
  Axis axis_;
  double whole_ = 1, from_ = 0, to_ = 1;
};

/// The better axis for a whole recording: events if they occupy only a small part of its time.
[[nodiscard]] Axis better_axis(const Recording& recording);

/// The units [from, to) of a column, at least one. Neighbours share a unit that lasts in both.
struct Column {
  Unit from = 0, to = 0;
};

/// Fills all of `columns`. Allocates nothing.
void find_columns(const Recording& recording, const View& view, std::span<Column> columns);

struct Tick {
  double x = 0;  ///< on the axis
  std::string label;
};
/// Ticks at round numbers, at least `apart` columns apart. Replaces the contents of `found`.
void find_ticks(const View& view, int columns, int apart, std::vector<Tick>& found);

/// 1500000 → "1.5 ms": in the unit for `largest`, with the digits needed to distinguish times that are `step` apart.
[[nodiscard]] std::string time_label(double ns, double step, double largest);

}  // namespace dcmt::scene
