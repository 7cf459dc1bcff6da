// Rows of events: operators, gathers, releases.
#include <algorithm>
#include <cmath>

#include "render/scene/frame.h"
#include "render/scene/raster.h"

namespace dcmt::scene {

void Painter::spans(std::size_t index) {
  const SpanRow& of = document_->spans[index];
  const Theme& theme = *appearance_->theme;
  const int height = appearance_->text_height + 1;
  const int y = facts_.rows.back().y + facts_.rows.back().height;
  facts_.rows.push_back({Row::What::kSpans, y, height, static_cast<std::uint32_t>(index)});
  text(6, y, facts_.chart.x - 12, appearance_->text_height, of.name, theme.faint);
  const auto width = static_cast<std::size_t>(facts_.chart.width);
  std::vector<SpanRow::Span>& spans = facts_.spans[index];
  const std::size_t count = facts_.span_counts[index] = of.spans(*view_, width, spans);
  const Color color = mixed(theme.groups[3], theme.background, 0.45);
  if (spans.empty()) {
    if (count == 0) return;
    // There are more spans than columns, so single columns would not be distinguishable.
    canvas_->fill({facts_.chart.x, y, facts_.chart.width, height - 1}, mixed(color, theme.background, 0.5));
    scratch_name_.assign(std::to_string(count)).append(" ").append(of.unit);
    text(facts_.chart.x + 4, y, facts_.chart.width - 8, appearance_->text_height, scratch_name_, theme.text);
    return;
  }
  const double scale = facts_.chart.width / (view_->to() - view_->from());
  const auto column = [&](double x) {
    const double at = (x - view_->from()) * scale;
    return std::clamp(static_cast<int>(std::floor(at)), 0, facts_.chart.width - 1);
  };
  colors_.assign(width, Canvas::kNone);
  for (const SpanRow::Span& span : spans) {
    const int from = column(span.from);
    const int to = std::max(from, column(span.to));
    for (int x = from; x <= to; ++x) colors_[static_cast<std::size_t>(x)] = color;
    if (to - from > 3) colors_[static_cast<std::size_t>(to)] = theme.background;
  }
  canvas_->row(facts_.chart.x, y, height - 1, colors_);
  for (const SpanRow::Span& span : spans) {
    const int from = column(span.from);
    const int room = column(span.to) - from - 6;
    if (room < appearance_->text_height * 2) continue;
    label_.clear();
    of.label(span.index, label_);
    text(facts_.chart.x + from + 3, y, room, appearance_->text_height, label_, theme.text);
  }
}

void Painter::points(std::size_t index) {
  const PointRow& of = document_->points[index];
  const Theme& theme = *appearance_->theme;
  const int height = appearance_->text_height + 1;
  const int y = facts_.rows.back().y + facts_.rows.back().height;
  facts_.rows.push_back({Row::What::kPoints, y, height, static_cast<std::uint32_t>(index)});
  text(6, y, facts_.chart.x - 12, appearance_->text_height, of.name, theme.faint);
  std::vector<std::uint8_t>& columns = facts_.points[index];
  columns.assign(static_cast<std::size_t>(facts_.chart.width), 0);
  for (std::size_t kind = 0; kind < of.kinds.size(); ++kind) {
    const std::vector<Unit>& units = of.kinds[kind].units;
    auto at = units.begin();
    for (std::size_t i = 0; i < columns.size() && at != units.end(); ++i) {
      // A unit that spans several columns is a point in the first one.
      const Unit from = i > 0 ? std::max(facts_.columns[i].from, facts_.columns[i - 1].to) : facts_.columns[i].from;
      at = std::lower_bound(at, units.end(), from);
      if (at != units.end() && *at < facts_.columns[i].to) columns[i] = static_cast<std::uint8_t>(kind + 1);
    }
  }
  colors_.assign(columns.size(), Canvas::kNone);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i] == 0) continue;
    const PointRow::Kind& kind = of.kinds[columns[i] - 1U];
    colors_[i] = kind.finding ? theme.finding : theme.groups[kind.group];
    // Widens a point by one column if there is space.
    if (i + 1 < columns.size() && columns[i + 1] == 0) colors_[i + 1] = colors_[i];
  }
  canvas_->row(facts_.chart.x, y + 2, height - 4, colors_);
}

}  // namespace dcmt::scene
