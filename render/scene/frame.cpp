#include "render/scene/frame.h"

#include <algorithm>
#include <cmath>

#include "render/scene/raster.h"
#include "render/scene/round_bytes.h"
#include "trace/base/quantities.h"

namespace dcmt::scene {
namespace {

/// The maximum of labels in a picture; nobody would read more.
constexpr std::size_t kMostLabels = 400;
/// The maximum of characters for a step's number. Other names are cut to the width of their own step.
constexpr std::size_t kNumber = 6;

/// Separates the bytes of a label from the rest.
constexpr std::string_view kLabelParts = " · ";

bool is_light(Color color) {
  return 299 * ((color >> 16) & 0xffU) + 587 * ((color >> 8) & 0xffU) + 114 * (color & 0xffU) > 150'000;
}

int header_height(const Appearance& appearance) { return appearance.text_height + 4; }

int lane_height(const Document& document, const Appearance& appearance, std::size_t band) {
  const std::uint32_t lanes = document.lanes->bands()[band].count;
  if (lanes <= 24) return appearance.text_height + 1;
  return lanes <= 100 ? std::max(6, appearance.text_height / 2) : 4;
}

int band_height(const Document& document, const Appearance& appearance, std::size_t band) {
  const Lanes::Band& of = document.lanes->bands()[band];
  if (of.count == 0) return 0;
  if (!document.bands[band].open) return header_height(appearance) + appearance.text_height / 2;
  return header_height(appearance) + static_cast<int>(of.count) * lane_height(document, appearance, band) + 4;
}

Color color_of(const Document& document, const Theme& theme, LifetimeId id) {
  const Lifetime& lifetime = document.recording->lifetimes()[id];
  if (lifetime.finding) return theme.finding;
  return theme.groups[lifetime.group];
}

/// The part of a lifetime in which it is dead; nullptr if there is none.
const Dead* dead_of(const Document& document, LifetimeId lifetime) {
  const auto found = std::lower_bound(document.dead.begin(), document.dead.end(), lifetime,
                                      [](const Dead& each, LifetimeId id) { return each.lifetime < id; });
  return found != document.dead.end() && found->lifetime == lifetime ? &*found : nullptr;
}

}  // namespace

int Painter::x_of(Unit unit) const {
  const double x = view_->x_of(*document_->recording, unit);
  const double share = (x - view_->from()) / (view_->to() - view_->from());
  const double most = 2.0 * facts_.chart.width;
  return facts_.chart.x + static_cast<int>(std::lround(std::clamp(share * facts_.chart.width, -most, most)));
}

void Painter::text(int x, int y, int width, int height, std::string_view text, Color color, bool cut) {
  const auto [shown, needed] = fit_text(*appearance_, text, width, cut, scratch_);
  if (shown.empty()) return;
  const Box box{x, y, needed, height};
  if (facts_.text_count == facts_.all_texts.size()) facts_.all_texts.emplace_back();
  TextOf& fact = facts_.all_texts[facts_.text_count++];
  fact.box = box;
  fact.text.assign(shown);
  canvas_->text(box, shown, color);
}

void Painter::ruler() {
  const Theme& theme = *appearance_->theme;
  const int height = header_height(*appearance_);
  facts_.rows.push_back({Row::What::kRuler, 0, height, 0});
  canvas_->fill({0, 0, appearance_->width, height}, theme.panel);
  find_ticks(*view_, facts_.chart.width, appearance_->text_height * 7, ticks_);
  int free_from = facts_.chart.x;
  for (const Tick& tick : ticks_) {
    const double share = (tick.x - view_->from()) / (view_->to() - view_->from());
    const int x = facts_.chart.x + static_cast<int>(share * facts_.chart.width);
    canvas_->fill({x, height - 5, 1, appearance_->height - height + 5}, theme.grid);
    const int room = facts_.chart.x + facts_.chart.width - x - 4;
    if (x + 3 < free_from) continue;
    const std::size_t before = facts_.text_count;
    text(x + 3, 1, room, appearance_->text_height, tick.label, theme.faint, false);
    if (facts_.text_count > before) {
      const Box& box = facts_.all_texts[before].box;
      free_from = box.x + box.width + 4;
    }
  }
  text(6, 1, facts_.chart.x - 12, appearance_->text_height,
       view_->axis() == Axis::kTime ? "time since the start" : "events", theme.faint);
}

std::ptrdiff_t Painter::label_stride(const std::vector<Named>& all, std::vector<Named>::const_iterator end) const {
  const Unit from = facts_.columns.front().from;
  const auto first = std::find_if(all.begin(), end, [&](const Named& each) { return each.to > from; });
  if (first == end) return 1;
  const auto last = end - 1;
  if (last->name.size() > kNumber) return 1;
  const int width = x_of(last->to) - x_of(first->from);
  const int needed = appearance_->text_width(last->name) + 10;
  for (std::ptrdiff_t tens = 1;; tens *= 10) {
    for (const std::ptrdiff_t stride : {tens, 2 * tens, 5 * tens}) {
      if (stride * width >= needed * (end - first) || stride > end - first) return stride;
    }
  }
}

void Painter::named(Row::What what, const std::vector<Named>& all, std::string_view title) {
  if (all.empty()) return;
  const Theme& theme = *appearance_->theme;
  const int height = appearance_->text_height + 1;
  const int y = facts_.rows.back().y + facts_.rows.back().height;
  facts_.rows.push_back({what, y, height, 0});
  text(6, y, facts_.chart.x - 12, appearance_->text_height, title, theme.faint);
  const Unit from = facts_.columns.front().from;
  const Unit to = facts_.columns.back().to;
  // Phases may be nested, so their ends are in no order: all phases that begin before the end are checked.
  colors_.assign(static_cast<std::size_t>(facts_.chart.width), Canvas::kNone);
  const auto end =
      std::lower_bound(all.begin(), all.end(), to, [](const Named& each, Unit u) { return each.from < u; });
  for (auto each = all.begin(); each != end; ++each) {
    if (each->to <= from) continue;
    const int x0 = std::max(x_of(each->from), facts_.chart.x);
    const int x1 = std::min(std::max(x_of(each->to), x0 + 1), facts_.chart.x + facts_.chart.width);
    const Color color = what == Row::What::kLost        ? mixed(theme.finding, theme.background, 0.5)
                        : (each - all.begin()) % 2 == 0 ? theme.step
                                                        : theme.step_other;
    for (int x = x0; x < x1 && x < facts_.chart.x + facts_.chart.width; ++x) {
      colors_[static_cast<std::size_t>(x - facts_.chart.x)] = x == x0 && x1 - x0 > 4 ? theme.background : color;
    }
  }
  canvas_->row(facts_.chart.x, y, height - 1, colors_);
  int free_from = facts_.chart.x;
  std::size_t labels = 0;
  const std::ptrdiff_t stride = what == Row::What::kSteps ? label_stride(all, end) : 1;
  for (auto each = all.begin(); each != end && labels < kMostLabels; ++each) {
    if (each->to <= from || (each - all.begin()) % stride != 0) continue;
    const int x0 = std::max(x_of(each->from), facts_.chart.x);
    const auto last = end - each > stride ? each + (stride - 1) : end - 1;
    const int x1 = std::min(x_of(last->to), facts_.chart.x + facts_.chart.width);
    // A nested phase has its own text; the text of the outer one ends where the inner one begins.
    int room = x1;
    if (stride == 1 && each + 1 != end && (each + 1)->from < each->to) room = std::min(room, x_of((each + 1)->from));
    if (x0 + 3 < free_from || room - x0 < appearance_->text_height) continue;
    const std::size_t before = facts_.text_count;
    text(x0 + 4, y, room - x0 - 6, appearance_->text_height, each->name, theme.text,
         what == Row::What::kPhases || (what == Row::What::kSteps && each->name.size() > kNumber));
    if (facts_.text_count > before) {
      const Box& box = facts_.all_texts[before].box;
      free_from = box.x + box.width + 2;
      ++labels;
    }
  }
}

template <class YOf>
void Painter::reserved(const YOf& y_of) {
  const std::vector<Reserved>& all = document_->reserved;
  facts_.reserved.clear();
  if (all.empty()) return;
  facts_.reserved.assign(facts_.columns.size(), -1);
  auto at = std::lower_bound(all.begin(), all.end(), facts_.columns.front().from,
                             [](const Reserved& each, Unit unit) { return each.to <= unit; });
  for (std::size_t i = 0; i < facts_.columns.size(); ++i) {
    const Column& column = facts_.columns[i];
    while (at != all.end() && at->to <= column.from) ++at;
    for (auto each = at; each != all.end() && each->from < column.to; ++each)
      facts_.reserved[i] = std::max(facts_.reserved[i], each->bytes);
  }
  // A line: at a step, it goes up or down within one column.
  int before = -1;
  for (std::size_t i = 0; i < facts_.reserved.size(); ++i) {
    const bool known = facts_.reserved[i] >= 0;
    const int y = known ? y_of(facts_.reserved[i]) : -1;
    tops_[i] = known && before >= 0 ? std::min(y, before) : y;
    bottoms_[i] = known ? std::max(y, before) + 2 : y;
    before = y;
  }
  canvas_->area(facts_.chart.x, tops_, bottoms_, appearance_->theme->reserved, false);
}

void Painter::curve() {
  const Theme& theme = *appearance_->theme;
  const int y = facts_.rows.back().y + facts_.rows.back().height;
  const int height = std::max(appearance_->text_height * 6, appearance_->height * 36 / 100);
  facts_.rows.push_back({Row::What::kCurve, y, height, 0});
  const int base = y + height - appearance_->text_height / 2 - 3;
  const int top = y + appearance_->text_height + 6;
  const auto width = static_cast<std::size_t>(facts_.chart.width);

  std::int64_t most = std::max<std::int64_t>(document_->curve->peak(), 1);
  for (const Reserved& stretch : document_->reserved) most = std::max(most, stretch.bytes);
  facts_.scale = most;
  const auto y_of = [&](std::int64_t bytes) {
    const double share = static_cast<double>(std::clamp<std::int64_t>(bytes, 0, most)) / static_cast<double>(most);
    return base - static_cast<int>(std::lround(share * (base - top)));
  };
  // The axis.
  // As a double: the bytes of a damaged trace may have no multiple in the integer type.
  const double least = static_cast<double>(most) * appearance_->text_height * 2 / std::max(base - top, 1);
  const std::int64_t step = round_bytes(static_cast<std::int64_t>(std::min(least, static_cast<double>(most))));
  for (std::int64_t bytes = 0;; bytes += step) {
    const int line = y_of(bytes);
    canvas_->fill({facts_.chart.x, line, facts_.chart.width, 1}, theme.grid);
    std::string& label = ticks_.empty() ? ticks_.emplace_back().label : ticks_.front().label;
    label = rounded_bytes(bytes);
    const int needed = appearance_->text_width(label);
    text(facts_.chart.x - needed - 6, line - appearance_->text_height / 2, needed, appearance_->text_height, label,
         theme.faint);
    if (bytes > most - step) break;
  }

  facts_.curve.resize(width);
  facts_.groups.resize(width);
  document_->curve->columns(facts_.columns, facts_.curve);
  for (std::size_t i = 0; i < width; ++i) facts_.groups[i] = document_->curve->groups_at(facts_.curve[i].highest_at);
  bottoms_.assign(width, base);
  tops_.resize(width);
  for (std::size_t group = 0; group < kGroups; ++group) {
    bool any = false;
    for (std::size_t i = 0; i < width; ++i) {
      std::int64_t sum = 0;
      for (std::size_t below = 0; below <= group; ++below) sum += std::max<std::int64_t>(0, facts_.groups[i][below]);
      tops_[i] =
          group + 1 == kGroups ? y_of(facts_.curve[i].highest) : std::max(y_of(sum), y_of(facts_.curve[i].highest));
      any = any || tops_[i] < bottoms_[i];
    }
    if (any) canvas_->area(facts_.chart.x, tops_, bottoms_, theme.groups[group], false);
    std::swap(tops_, bottoms_);
  }
  facts_.without.clear();
  facts_.dead.clear();
  if (document_->without != nullptr) {
    facts_.without.resize(width);
    facts_.dead.resize(width);
    document_->without->columns(facts_.columns, facts_.without);
    for (std::size_t i = 0; i < width; ++i) {
      facts_.dead[i] = document_->without->left_out_at(facts_.curve[i].highest_at);
      tops_[i] = y_of(facts_.curve[i].highest);
      bottoms_[i] = y_of(facts_.curve[i].highest - facts_.dead[i]);
    }
    canvas_->area(facts_.chart.x, tops_, bottoms_, theme.dead, true);
    for (std::size_t i = 0; i < width; ++i) tops_[i] = y_of(facts_.without[i].highest);
    canvas_->line(facts_.chart.x, tops_, theme.what_if);
  }
  reserved(y_of);
  for (const Named& gap : document_->sums_only) {
    const int x0 = std::max(x_of(gap.from), facts_.chart.x);
    const int x1 = std::min(x_of(gap.to), facts_.chart.x + facts_.chart.width);
    if (x0 >= x1) continue;
    canvas_->fill({x0, top, x1 - x0, base - top}, theme.sums_only);
    text(x0 + 4, top + 2, x1 - x0 - 8, appearance_->text_height, gap.name, theme.text);
  }
  // Marks the peak if it is visible.
  const Unit peak = document_->curve->peak_at();
  for (std::size_t i = 0; i < width; ++i) {
    if (facts_.curve[i].highest_at != peak || facts_.columns[i].from > peak || facts_.columns[i].to <= peak) continue;
    const int x = facts_.chart.x + static_cast<int>(i);
    canvas_->fill({x, top - 5, 1, 5}, theme.selected);
    canvas_->fill({x - 2, top - 5, 5, 2}, theme.selected);
    const int needed = appearance_->text_width(document_->peak_text);
    const int right = facts_.chart.x + facts_.chart.width;
    const int at = x + 6 + needed <= right ? x + 6 : std::max(facts_.chart.x, x - 6 - needed);
    text(at, y + 2, std::min(needed, right - at), appearance_->text_height, document_->peak_text, theme.text);
    break;
  }
}

void Painter::band_bytes(std::size_t band, int y, int height) {
  const std::int64_t most = std::max<std::int64_t>(document_->band_curves->peak(band), 1);
  const auto width = static_cast<std::size_t>(facts_.chart.width);
  tops_.resize(width);
  bottoms_.assign(width, y + height);
  bytes_.resize(width);
  document_->band_curves->highest(band, facts_.columns, bytes_);
  for (std::size_t i = 0; i < width; ++i) {
    const std::int64_t bytes = bytes_[i];
    // Small values are visible, too.
    const double share = static_cast<double>(bytes) / static_cast<double>(most);
    tops_[i] = y + height - (bytes > 0 ? std::max(2, static_cast<int>(std::lround(share * height))) : 0);
  }
  const bool finding = document_->bands[band].finding > 0;
  canvas_->area(
      facts_.chart.x, tops_, bottoms_,
      finding ? appearance_->theme->finding : mixed(appearance_->theme->faint, appearance_->theme->background, 0.3),
      false);
}

void Painter::mark_narrow(std::uint32_t lane, int y, int height) {
  if (!appearance_->selected || document_->lanes->lane_of(*appearance_->selected) != lane) return;
  const LifetimeId id = *appearance_->selected;
  if (std::ranges::any_of(bars_, [id](const Bar& bar) { return bar.lifetime == id; })) return;
  const Lifetime& of = document_->recording->lifetimes()[id];
  if (of.to <= facts_.columns.front().from || of.from >= facts_.columns.back().to) return;
  const int x = std::clamp(x_of(of.from), facts_.chart.x, facts_.chart.x + facts_.chart.width - 1);
  for (const int side : {x - 3, x + 3}) {
    if (side >= facts_.chart.x) canvas_->fill({side, y - 1, 2, height + 2}, appearance_->theme->selected);
  }
}

void Painter::lane(std::uint32_t lane, int y, int height) {
  const Theme& theme = *appearance_->theme;
  const auto is_framed = [this](LifetimeId id) { return appearance_->selected == id || appearance_->hovered == id; };
  bars_.clear();
  const auto least = static_cast<std::uint32_t>(3);
  facts_.runs += document_->lanes->draw(lane, facts_.columns, cells_, least, bars_);
  bool any = false;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    colors_[i] = Canvas::kNone;
    if (cell.lifetime == kNoLifetime) continue;
    any = true;
    const auto shade = static_cast<std::size_t>(cell.busy * (kShades - 1));
    colors_[i] = cell.finding ? theme.finding : shades_[cell.group][shade];
  }
  if (!any) return;
  const int thick = std::max(1, height - 1);
  // A line of the background at the end of each bar. Drawn here, where it costs nothing more.
  for (const Bar& bar : bars_) {
    if (!is_framed(bar.lifetime)) colors_[bar.to - 1] = theme.background;
  }
  canvas_->row(facts_.chart.x, y, thick, colors_);
  for (const Bar& bar : bars_) {
    const int x0 = facts_.chart.x + static_cast<int>(bar.from);
    const int x1 = facts_.chart.x + static_cast<int>(bar.to);
    facts_.bars.push_back({bar.lifetime, {x0, y, x1 - x0, thick}});
    if (const Dead* dead = dead_of(*document_, bar.lifetime); dead != nullptr) {
      const int d0 = std::clamp(x_of(dead->from), x0, x1 - 1);
      const int d1 = std::clamp(x_of(dead->to), d0, x1 - 1);
      // In a thin bar, stripes would look like dots.
      if (thick < 7) {
        canvas_->fill({d0, y, d1 - d0, thick}, mixed(theme.background, color_of(*document_, theme, bar.lifetime), 0.6));
      } else {
        canvas_->hatch({d0, y, d1 - d0, thick}, theme.background);
      }
    }
    if (is_framed(bar.lifetime)) {
      canvas_->fill({x0, y, x1 - x0, 1}, theme.selected);
      canvas_->fill({x0, y + thick - 1, x1 - x0, 1}, theme.selected);
      canvas_->fill({x0, y, 1, thick}, theme.selected);
      canvas_->fill({x1 - 1, y, 1, thick}, theme.selected);
    }
  }
  mark_narrow(lane, y, thick);
  if (height < appearance_->text_height || !document_->label) return;

  for (const Bar& bar : bars_) {
    const int x0 = facts_.chart.x + static_cast<int>(bar.from);
    int room = static_cast<int>(bar.to - bar.from) - 8;
    if (room < appearance_->text_height * 2 || facts_.text_count >= kMostLabels) continue;
    label_.clear();
    document_->label(bar.lifetime, label_);
    const Color below = color_of(*document_, theme, bar.lifetime);
    // Half a name is useless: then only the bytes are shown.
    std::string_view shown = label_;
    if (appearance_->text_width(shown) > room) shown = shown.substr(0, shown.find(kLabelParts));
    const int needed = appearance_->text_width(shown);
    if (needed > room) continue;
    // No stripes below the text.
    if (dead_of(*document_, bar.lifetime) != nullptr) canvas_->fill({x0 + 2, y, needed + 4, thick}, below);
    text(x0 + 4, y, room, appearance_->text_height, shown, is_light(below) ? 0x16181c : 0xffffff, false);
  }
}

void Painter::bands() {
  const Theme& theme = *appearance_->theme;
  const int top = facts_.rows.back().y + facts_.rows.back().height + 2;
  bands_top_ = top;
  int y = top - appearance_->scroll;
  for (std::size_t group = 0; group < kGroups; ++group) {
    for (std::size_t shade = 0; shade < kShades; ++shade) {
      // A column with little activity is visible, too.
      const double share = 0.3 + 0.7 * static_cast<double>(shade) / (kShades - 1);
      shades_[group][shade] = mixed(theme.background, theme.groups[group], share);
    }
  }
  cells_.resize(facts_.columns.size());
  colors_.resize(facts_.columns.size());
  for (std::size_t band = 0; band < document_->bands.size(); ++band) {
    const int height = band_height(*document_, *appearance_, band);
    if (height == 0) continue;
    if (y + height > top && y < appearance_->height) {
      const BandOf& of = document_->bands[band];
      const int header = header_height(*appearance_);
      const bool seen = y >= top && y + header <= appearance_->height;
      if (seen) {
        facts_.rows.push_back({Row::What::kBand, y, of.open ? header : height, static_cast<std::uint32_t>(band)});
        canvas_->fill({0, y, facts_.chart.x - 4, header - 1}, theme.panel);
        scratch_name_.assign(of.open ? "▾ " : "▸ ").append(of.name);
        label_.assign(scratch_name_);
        if (!of.count.empty()) label_.append(" · ").append(of.count);
        // A truncated number would be another number.
        const int room = facts_.chart.x - 16;
        const bool fits = appearance_->text_width(label_) <= room;
        text(6, y + 2, room, appearance_->text_height, fits ? label_ : scratch_name_,
             of.finding > 0 ? theme.finding : theme.text);
        band_bytes(band, y + 1, (of.open ? header : height) - 2);
      }
      if (of.open) {
        const int each = lane_height(*document_, *appearance_, band);
        const Lanes::Band& lanes = document_->lanes->bands()[band];
        const int first_y = y + header;
        const int skipped = std::clamp((top - first_y + each - 1) / each, 0, static_cast<int>(lanes.count));
        for (auto i = static_cast<std::uint32_t>(skipped); i < lanes.count; ++i) {
          const int lane_y = first_y + static_cast<int>(i) * each;
          if (lane_y + each > appearance_->height) break;
          facts_.rows.push_back({Row::What::kLane, lane_y, each, lanes.first + i});
          lane(lanes.first + i, lane_y, each);
        }
      }
    }
    y += height;
  }
  facts_.content = y + appearance_->scroll - top;
}

void Painter::overlays() {
  const Theme& theme = *appearance_->theme;
  const int top = header_height(*appearance_);
  const int left = facts_.chart.x;
  const int right = left + facts_.chart.width;
  if (appearance_->range) {
    for (const Unit edge : {appearance_->range->first, appearance_->range->second}) {
      const int x = x_of(edge);
      if (x >= left && x < right) canvas_->fill({x, top, 1, appearance_->height - top}, theme.selected);
    }
  }
  if (appearance_->point) {
    const int x = x_of(*appearance_->point);
    if (x >= left && x < right) canvas_->fill({x, top - 4, 2, appearance_->height - top + 4}, theme.point);
  }
  canvas_->fill({left - 1, 0, 1, appearance_->height}, theme.grid);
}

const Facts& Painter::draw(const Document& document, const View& view, const Appearance& appearance, Canvas& canvas) {
  document_ = &document;
  view_ = &view;
  appearance_ = &appearance;
  canvas_ = &canvas;
  const int gutter = std::min(appearance.text_height * 15, appearance.width / 3);
  facts_.chart = {gutter, 0, std::max(1, appearance.width - gutter), appearance.height};
  facts_.columns.resize(static_cast<std::size_t>(facts_.chart.width));
  facts_.rows.clear();
  facts_.bars.clear();
  facts_.arrows.clear();
  facts_.text_count = 0;
  facts_.runs = 0;
  find_columns(*document.recording, view, facts_.columns);
  ruler();
  named(Row::What::kSteps, document.steps, "steps");
  named(Row::What::kPhases, document.phases, "phases");
  named(Row::What::kLost, document.lost, "lost records");
  facts_.spans.resize(document.spans.size());
  facts_.span_counts.resize(document.spans.size());
  for (std::size_t row = 0; row < document.spans.size(); ++row) spans(row);
  facts_.points.resize(document.points.size());
  for (std::size_t row = 0; row < document.points.size(); ++row) points(row);
  curve();
  bands();
  arrows();
  overlays();
  return facts_;
}

const Row* Painter::row_at(int y) const {
  const auto found = std::find_if(facts_.rows.begin(), facts_.rows.end(),
                                  [y](const Row& row) { return y >= row.y && y < row.y + row.height; });
  return found != facts_.rows.end() ? &*found : nullptr;
}

std::optional<Hit> Painter::hit(const Document& document, int x, int y) const {
  const Row* row = row_at(y);
  const int column = x - facts_.chart.x;
  if (row == nullptr || row->what != Row::What::kLane || column < 0 || column >= facts_.chart.width)
    return std::nullopt;
  return document.lanes->hit(row->index, facts_.columns[static_cast<std::size_t>(column)]);
}

int Painter::top_of(const Document& document, const Appearance& appearance, std::uint32_t lane) {
  int y = 0;
  for (std::size_t band = 0; band < document.bands.size(); ++band) {
    const Lanes::Band& of = document.lanes->bands()[band];
    if (lane >= of.first && lane < of.first + of.count) {
      if (!document.bands[band].open) return y;
      return y + header_height(appearance) +
             static_cast<int>(lane - of.first) * lane_height(document, appearance, band);
    }
    y += band_height(document, appearance, band);
  }
  return y;
}

}  // namespace dcmt::scene
