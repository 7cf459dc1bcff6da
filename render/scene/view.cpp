#include "render/scene/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace dcmt::scene {
namespace {

double length_of(const Recording& recording, Axis axis) {
  return axis == Axis::kEvents ? static_cast<double>(recording.units())
                               : static_cast<double>(recording.end_ns() - recording.begin_ns());
}

}  // namespace

View::View(const Recording& recording, Axis axis)
    : axis_(axis), whole_(std::max(1.0, length_of(recording, axis))), to_(whole_) {}

void View::show(double from, double to) {
  if (!(std::isfinite(from) && std::isfinite(to))) return;
  const double width = std::clamp(to - from, 1.0, whole_);
  const double middle = from + (to - from) / 2;
  from_ = std::clamp(middle - width / 2, 0.0, whole_ - width);
  to_ = from_ + width;
}

void View::zoom(double factor, double at) {
  const double width = std::clamp((to_ - from_) / factor, 1.0, whole_);
  const double fixed = from_ + at * (to_ - from_);
  show(fixed - at * width, fixed + (1 - at) * width);
}

void View::fit(const Recording& recording, Unit from, Unit to) {
  const double a = x_of(recording, from);
  const double b = std::max(x_of(recording, to), a + 1);
  const double room = (b - a) * 0.1;
  show(a - room, b + room);
}

void View::set_axis(const Recording& recording, Axis axis) {
  if (axis == axis_) return;
  const Unit from = unit_of(recording, from_);
  const bool all = whole();
  const Unit to = unit_of(recording, to_) + 1;
  *this = View(recording, axis);
  if (!all) show(x_of(recording, from), x_of(recording, to));
}

double View::x_of(const Recording& recording, Unit unit) const {
  if (axis_ == Axis::kEvents) return unit;
  if (unit >= recording.units()) return whole_;
  return static_cast<double>(recording.ns(unit) - recording.begin_ns());
}

Unit View::unit_of(const Recording& recording, double x) const {
  const double inside = std::clamp(x, 0.0, whole_);
  if (axis_ == Axis::kEvents) return std::min(static_cast<Unit>(inside), recording.units() - 1);
  return recording.at(recording.begin_ns() + static_cast<std::int64_t>(inside));
}

Axis better_axis(const Recording& recording) {
  constexpr std::int64_t kParts = 64;
  const std::int64_t length = recording.end_ns() - recording.begin_ns();
  std::int64_t busy = 0;
  for (std::int64_t part = 0; part < kParts; ++part) {
    const Unit first = recording.first_at(recording.begin_ns() + length / kParts * part);
    busy += recording.first_at(recording.begin_ns() + length / kParts * (part + 1)) > first ? 1 : 0;
  }
  return busy < kParts / 4 ? Axis::kEvents : Axis::kTime;
}

void find_columns(const Recording& recording, const View& view, std::span<Column> columns) {
  const Unit units = recording.units();
  const double width = (view.to() - view.from()) / static_cast<double>(columns.size());
  Unit edge = 0;  // end of the previous column
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double x = view.from() + static_cast<double>(i) * width;
    const double next = i + 1 == columns.size() ? view.to() : view.from() + static_cast<double>(i + 1) * width;
    Column& column = columns[i];
    if (view.axis() == Axis::kEvents) {
      column.from = std::min(static_cast<Unit>(x), units - 1);
      column.to = std::min(static_cast<Unit>(std::ceil(next)), units);
    } else {
      const std::int64_t begin = recording.begin_ns() + static_cast<std::int64_t>(std::floor(x));
      const std::int64_t end = recording.begin_ns() + static_cast<std::int64_t>(std::ceil(next));
      // Columns share an edge unless a unit begins within its nanosecond.
      const bool shared = i > 0 && (edge == 0 || recording.ns(edge - 1) < begin);
      column.from = shared ? edge : recording.first_at(begin);
      if (column.from == units || (column.from > 0 && recording.ns(column.from) > begin)) --column.from;
      column.to = edge = recording.first_at(end);
    }
    column.to = std::max(column.to, column.from + 1);
  }
}

std::string time_label(double ns, double step, double largest) {
  struct Scale {
    double ns;
    const char* name;
  };
  constexpr std::array<Scale, 4> kScales{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
  const double size = std::max(largest, step);
  const Scale& scale = *std::find_if(kScales.begin(), kScales.end() - 1, [&](const Scale& s) { return size >= s.ns; });
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(std::max(step, 1.0) / scale.ns) - 1e-9)), 0, 9);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", digits, ns / scale.ns, scale.name);
  return text.data();
}

void find_ticks(const View& view, int columns, int apart, std::vector<Tick>& found) {
  found.clear();
  const double seen = view.to() - view.from();
  const double least = std::max(seen * apart / std::max(columns, 1), 1.0);
  double step = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (step * factor >= least * (1 - 1e-9)) {
      step *= factor;
      break;
    }
  }
  for (double x = std::ceil(view.from() / step) * step; x < view.to(); x += step) {
    if (view.axis() == Axis::kTime) {
      found.push_back({x, time_label(x, step, view.to())});
    } else {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%.0f", x);
      found.push_back({x, text.data()});
    }
  }
}

}  // namespace dcmt::scene
