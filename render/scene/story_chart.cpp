#include "render/scene/story_chart.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "render/scene/label.h"
#include "render/scene/raster.h"

namespace dcmt::scene {
namespace {

int row_height(int text_height) { return text_height + 6; }

class ChartPainter {
 public:
  ChartPainter(const StoryChart& story, const Appearance& appearance, Canvas& canvas)
      : story_(story), appearance_(appearance), canvas_(canvas), row_(row_height(appearance.text_height)) {
    const int gutter = std::min(appearance.text_height * 16, appearance.width * 2 / 5);
    facts_.height = story_chart_height(story, appearance.text_height);
    facts_.chart = {gutter, 0, std::max(1, appearance.width - gutter - 4), facts_.height};
  }

  StoryChartFacts draw(std::optional<double> at) {
    ruler();
    points();
    for (std::size_t i = 0; i < story_.bars.size(); ++i) bar(i);
    for (const StoryChart::Arrow& each : story_.arrows) arrow(each);
    if (at && *at >= 0 && *at <= story_.length)
      canvas_.fill({x_of(*at), row_ - 4, 2, facts_.height}, appearance_.theme->point);
    return std::move(facts_);
  }

 private:
  [[nodiscard]] int x_of(double x) const {
    const double share = std::clamp(x / std::max(story_.length, 1e-9), 0.0, 1.0);
    return facts_.chart.x + static_cast<int>(share * (facts_.chart.width - 1));
  }

  /// Returns the end of the text.
  int text(int x, int y, int room, std::string_view text, Color color, bool cut) {
    return draw_label(canvas_, appearance_, facts_.texts, x, y, room, text, color, cut);
  }

  void ruler() {
    canvas_.fill({0, 0, appearance_.width, row_ - 2}, appearance_.theme->panel);
    int free_from = facts_.chart.x;
    for (const Tick& tick : story_.ticks) {
      const int x = x_of(tick.x);
      canvas_.fill({x, row_ - 6, 1, facts_.height}, appearance_.theme->grid);
      if (x + 3 < free_from) continue;
      const int end =
          text(x + 3, 2, facts_.chart.x + facts_.chart.width - x - 3, tick.label, appearance_.theme->faint, false);
      if (end > x + 3) free_from = end + 6;
    }
  }

  void points() {
    const Theme& theme = *appearance_.theme;
    const int y = row_;
    text(6, y + 2, facts_.chart.x - 12, "events", theme.faint, true);
    using What = StoryChart::Point::What;
    int free_from = facts_.chart.x;
    for (std::size_t i = 0; i < story_.points.size(); ++i) {
      const StoryChart::Point& point = story_.points[i];
      const int x = x_of(point.at);
      const Color color = point.what == StoryChart::Point::What::kRelease  ? theme.finding
                          : point.what == StoryChart::Point::What::kGather ? theme.groups[2]
                          : point.what == StoryChart::Point::What::kRead   ? theme.groups[3]
                                                                           : theme.faint;
      canvas_.fill({x, y + 2, 3, row_ - 4}, color);
      if (x + 5 < free_from) continue;
      // Points of less importance get a text only if there is space.
      std::size_t after = i + 1;
      while (point.what != What::kOther && after < story_.points.size() && story_.points[after].what == What::kOther)
        ++after;
      const int next =
          after < story_.points.size() ? x_of(story_.points[after].at) : facts_.chart.x + facts_.chart.width;
      const int end = text(x + 5, y + 2, next - x - 7, point.text, theme.text, false);
      if (end > x + 5) free_from = end + 4;
    }
  }

  void bar(std::size_t index) {
    const StoryChart::Bar& of = story_.bars[index];
    const Theme& theme = *appearance_.theme;
    const int y = row_ * (static_cast<int>(index) + 2);
    text(6, y + 2, facts_.chart.x - 12, of.name, theme.text, true);
    const int x0 = x_of(of.from);
    const int x1 = std::max(x_of(of.to), x0 + 2);
    const Box box{x0, y + 3, x1 - x0, row_ - 6};
    facts_.bars.push_back(box);
    const Color color = of.what == StoryChart::What::kBytes       ? theme.groups[0]
                        : of.what == StoryChart::What::kTensor    ? theme.groups[1]
                        : of.what == StoryChart::What::kReference ? theme.groups[3]
                                                                  : theme.groups[4];
    canvas_.fill(box, color);
    // A bar whose begin was not observed fades in.
    if (of.fuzzy) {
      for (int i = 0; i < 4 && i < box.width; ++i)
        canvas_.fill({box.x + i, box.y, 1, box.height}, mixed(theme.background, color, 0.2 + 0.2 * i));
    }
    if (of.dead_from) {
      const int dead = std::clamp(x_of(*of.dead_from), x0, x1);
      canvas_.hatch({dead, box.y, x1 - dead, box.height}, theme.background);
    }
    if (of.note.empty()) return;
    const int needed = appearance_.text_width(of.note) + 8;
    const int right = facts_.chart.x + facts_.chart.width;
    if (needed <= box.width) {
      canvas_.fill({x0 + 2, box.y, needed, box.height}, mixed(color, theme.background, 0.75));
      text(x0 + 6, y + 2, box.width - 8, of.note, theme.text, false);
    } else if (x1 + needed <= right) {
      text(x1 + 4, y + 2, right - x1 - 4, of.note, theme.faint, false);
    }
  }

  /// Draws a vertical arrow; its head is at the held bar.
  void arrow(const StoryChart::Arrow& of) {
    const Box& holder = facts_.bars[of.holder];
    const Box& held = facts_.bars[of.held];
    const int x = std::clamp(x_of(of.at), facts_.chart.x, facts_.chart.x + facts_.chart.width - 4) + 2;
    const bool up = held.y < holder.y;
    const int from = up ? holder.y : holder.y + holder.height;
    const int to = up ? held.y + held.height : held.y;
    const int top = std::min(from, to);
    facts_.arrows.push_back({x, top, 1, std::max(from, to) - top});
    canvas_.fill(facts_.arrows.back(), appearance_.theme->text);
    for (int i = 0; i < 4; ++i) canvas_.fill({x - i, up ? to + i : to - i - 1, 2 * i + 1, 1}, appearance_.theme->text);
  }

  const StoryChart& story_;
  const Appearance& appearance_;
  Canvas& canvas_;
  int row_;
  StoryChartFacts facts_;
};

}  // namespace

int story_chart_height(const StoryChart& story, int text_height) {
  return row_height(text_height) * (static_cast<int>(story.bars.size()) + 2) + 4;
}

StoryChartFacts draw_story_chart(const StoryChart& story, const Appearance& appearance, std::optional<double> at,
                                 Canvas& canvas) {
  return ChartPainter(story, appearance, canvas).draw(at);
}

}  // namespace dcmt::scene
