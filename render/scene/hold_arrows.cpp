// Draws arrows between bars: the holders of the selection, and what it holds.
#include <algorithm>
#include <cstdlib>

#include "render/scene/frame.h"

namespace dcmt::scene {
namespace {

/// The maximum of arrows in a picture; nobody could follow more.
constexpr std::size_t kMostArrows = 40;
/// Pixels between arrows.
constexpr int kApart = 6;

}  // namespace

Row Painter::row_of(std::uint32_t lane) const {
  const auto seen = std::ranges::find_if(
      facts_.rows, [lane](const Row& row) { return row.what == Row::What::kLane && row.index == lane; });
  if (seen != facts_.rows.end()) return *seen;
  return {Row::What::kLane, bands_top_ + top_of(*document_, *appearance_, lane) - appearance_->scroll,
          appearance_->text_height, lane};
}

/// Draws a vertical arrow. Its head is at the held bar.
void Painter::arrow(const HoldArrow& of) {
  const auto& lifetimes = document_->recording->lifetimes();
  const std::uint32_t holder_lane = document_->lanes->lane_of(of.holder);
  const std::uint32_t held_lane = document_->lanes->lane_of(of.held);
  if (holder_lane == kNoLane || held_lane == kNoLane || holder_lane == held_lane) return;
  const Unit begin = std::max(lifetimes[of.holder].from, lifetimes[of.held].from);
  const Unit end = std::min(lifetimes[of.holder].to, lifetimes[of.held].to);
  if (begin >= end) return;

  // The arrow lies within both bars, and in the picture if these do.
  const int left = std::max(x_of(begin), facts_.chart.x);
  const int right = std::min(x_of(end), facts_.chart.x + facts_.chart.width) - 1;
  if (left > right) return;
  const Row holder = row_of(holder_lane);
  const Row held = row_of(held_lane);
  const auto seen = [this](std::uint32_t lane) {
    return std::ranges::any_of(facts_.rows,
                               [lane](const Row& row) { return row.what == Row::What::kLane && row.index == lane; });
  };
  // Arrows to the edge are drawn only for a selected bar: those of all bars of a finding would hide the others.
  const bool one = appearance_->selected == of.holder || appearance_->selected == of.held;
  if (!one && !(seen(holder_lane) && seen(held_lane))) return;
  const bool up = held.y < holder.y;
  const auto shown = [this](int y) { return std::clamp(y, bands_top_, appearance_->height); };
  const int tail = shown(up ? holder.y : holder.y + holder.height - 1);
  const int head = shown(up ? held.y + held.height - 1 : held.y);
  if (tail == head) return;
  int x = std::clamp(x_of(std::clamp(of.at, begin, end - 1)) + kApart, std::min(left + kApart, right), right);
  const auto line_at = [&](int at) { return Box{at, std::min(tail, head), 1, std::abs(head - tail)}; };
  const auto is_occupied = [&](int at) {
    const Box room{at - kApart / 2, line_at(at).y, kApart, line_at(at).height};
    return std::ranges::any_of(facts_.arrows, [&](const ArrowOf& each) { return room.meets(each.line); });
  };
  while (is_occupied(x) && x + kApart <= right) x += kApart;

  const Theme& theme = *appearance_->theme;
  const Box line = line_at(x);
  canvas_->fill({x - 1, line.y, 3, line.height}, theme.background);  // makes it visible on any color
  canvas_->fill(line, theme.selected);
  const bool head_seen = held.y >= bands_top_ && held.y + held.height <= appearance_->height;
  for (int i = 0; head_seen && i < 5; ++i)
    canvas_->fill({x - i, up ? head + i : head - i - 1, 2 * i + 1, 1}, theme.selected);
  facts_.arrows.push_back({of.holder, of.held, line});
}

void Painter::arrows() {
  for (const HoldArrow& each : appearance_->holds) {
    if (facts_.arrows.size() < kMostArrows) arrow(each);
  }
}

}  // namespace dcmt::scene
