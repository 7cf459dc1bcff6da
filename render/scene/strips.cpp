#include "render/scene/strips.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "render/scene/label.h"
#include "render/scene/raster.h"

namespace dcmt::scene {
namespace {

int strip_height(int text_height) { return 2 * text_height + 6; }
int ruler_height(int text_height) { return text_height + 4; }

class StripPainter {
 public:
  StripPainter(const Strips& strips, const Appearance& appearance, Canvas& canvas)
      : strips_(strips), appearance_(appearance), canvas_(canvas) {
    const int gutter = std::min(appearance.text_height * 16, appearance.width / 3);
    facts_.height = strips_height(strips.strips.size(), appearance.text_height);
    facts_.chart = {gutter, 0, std::max(1, appearance.width - gutter), facts_.height};
  }

  StripFacts draw(std::optional<double> at, std::optional<std::size_t> current) {
    ruler();
    int y = ruler_height(appearance_.text_height);
    for (std::size_t i = 0; i < strips_.strips.size(); ++i) {
      row(strips_.strips[i], {0, y, appearance_.width, strip_height(appearance_.text_height)}, current == i);
      y += strip_height(appearance_.text_height);
    }
    if (at && *at >= 0 && *at <= strips_.length) {
      const int x = std::min(x_of(*at), facts_.chart.x + facts_.chart.width - 2);
      canvas_.fill({x, ruler_height(appearance_.text_height) - 4, 2, y}, appearance_.theme->point);
    }
    canvas_.fill({facts_.chart.x - 1, 0, 1, y}, appearance_.theme->grid);
    return std::move(facts_);
  }

 private:
  [[nodiscard]] double column_of(double x) const {
    return x / std::max(strips_.length, 1e-9) * static_cast<double>(facts_.chart.width);
  }
  [[nodiscard]] int x_of(double x) const { return facts_.chart.x + static_cast<int>(column_of(x)); }

  /// Returns the end of the text.
  int text(int x, int y, int room, std::string_view text, Color color, bool cut) {
    return draw_label(canvas_, appearance_, facts_.texts, x, y, room, text, color, cut);
  }

  void ruler() {
    const int height = ruler_height(appearance_.text_height);
    canvas_.fill({0, 0, appearance_.width, height}, appearance_.theme->panel);
    int free_from = facts_.chart.x;
    for (const Tick& tick : strips_.ticks) {
      const int x = x_of(tick.x);
      if (x >= facts_.chart.x + facts_.chart.width) continue;
      canvas_.fill({x, height - 5, 1, facts_.height - height + 5}, appearance_.theme->grid);
      if (x + 3 < free_from) continue;
      const int end =
          text(x + 3, 2, facts_.chart.x + facts_.chart.width - x - 4, tick.label, appearance_.theme->faint, false);
      if (end > x + 3) free_from = end + 6;
    }
  }

  void columns(const Strip& strip, std::vector<std::int64_t>& columns) const {
    const int width = facts_.chart.width;
    columns.assign(static_cast<std::size_t>(width), 0);
    for (const Strip::Stretch& stretch : strip.stretches) {
      const int from = std::clamp(static_cast<int>(std::floor(column_of(stretch.from))), 0, width - 1);
      const int to = std::clamp(static_cast<int>(std::ceil(column_of(stretch.to))), from + 1, width);
      for (int i = from; i < to; ++i) {
        std::int64_t& value = columns[static_cast<std::size_t>(i)];
        if (std::abs(stretch.value) > std::abs(value)) value = stretch.value;
      }
    }
  }

  void row(const Strip& strip, const Box& box, bool current) {
    const Theme& theme = *appearance_.theme;
    facts_.rows.push_back(box);
    const int gutter = facts_.chart.x;
    if (current) canvas_.fill({0, box.y, gutter - 2, box.height - 1}, theme.panel);
    if (current) canvas_.fill({0, box.y, 3, box.height - 1}, theme.point);
    text(8, box.y + 1, gutter - 16, strip.name, strip.apart ? theme.finding : theme.text, true);
    text(8, box.y + 2 + appearance_.text_height, gutter - 16, strip.note, strip.apart ? theme.finding : theme.faint,
         true);

    std::vector<std::int64_t>& values = facts_.columns.emplace_back();
    columns(strip, values);
    const int top = box.y + 2;
    const int base = box.y + box.height - 2;
    const auto area = [&](std::int64_t most, int from, int to, int sign, Color color) {
      tops_.clear();
      bottoms_.clear();
      for (const std::int64_t value : values) {
        const std::int64_t height = std::max<std::int64_t>(0, sign * value);
        const double share = static_cast<double>(height) / static_cast<double>(std::max<std::int64_t>(1, most));
        // Small values are visible, too.
        const int pixels =
            height > 0 ? std::max(1, static_cast<int>(std::lround(std::min(share, 1.0) * std::abs(to - from)))) : 0;
        tops_.push_back(sign > 0 ? from - pixels : from);
        bottoms_.push_back(sign > 0 ? from : from + pixels);
      }
      canvas_.area(facts_.chart.x, tops_, bottoms_, color, false);
    };
    if (strip.difference) {
      std::int64_t most = 1;
      for (const Strip::Stretch& stretch : strip.stretches) most = std::max(most, std::abs(stretch.value));
      const int middle = (top + base) / 2;
      area(most, middle, top, 1, theme.finding);
      area(most, middle, base, -1, theme.groups[2]);
      canvas_.fill({facts_.chart.x, middle, facts_.chart.width, 1}, theme.grid);
    } else {
      area(strips_.most, base, top, 1,
           strip.apart ? theme.finding : mixed(theme.groups[0], theme.background, current ? 0 : 0.35));
    }
    canvas_.fill({0, box.y + box.height - 1, appearance_.width, 1}, theme.grid);
  }

  const Strips& strips_;
  const Appearance& appearance_;
  Canvas& canvas_;
  StripFacts facts_;
  std::vector<int> tops_, bottoms_;
};

}  // namespace

int strips_height(std::size_t count, int text_height) {
  return ruler_height(text_height) + static_cast<int>(count) * strip_height(text_height);
}

StripFacts draw_strips(const Strips& strips, const Appearance& appearance, std::optional<double> at,
                       std::optional<std::size_t> current, Canvas& canvas) {
  return StripPainter(strips, appearance, canvas).draw(at, current);
}

std::vector<Tick> time_ticks(double length, int most) {
  std::vector<Tick> ticks;
  if (!(length > 0) || most < 1) return ticks;
  double step = std::pow(10, std::floor(std::log10(length / most)));
  for (const double factor : {2.0, 2.5, 2.0}) {
    if (length / step <= most) break;
    step *= factor;
  }
  for (int i = 0; i <= most && i * step < length; ++i) ticks.push_back({i * step, time_label(i * step, step, length)});
  return ticks;
}

}  // namespace dcmt::scene
