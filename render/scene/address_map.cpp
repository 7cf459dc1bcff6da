#include "render/scene/address_map.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "render/scene/label.h"
#include "render/scene/raster.h"
#include "trace/base/quantities.h"

namespace dcmt::scene {
namespace {

/// The approximate number of lines for the bytes of all stretches.
constexpr std::int64_t kLines = 24;
constexpr std::int64_t kLeastOfLine = 64 << 10;

int line_height(int text_height) { return text_height + 3; }

std::int64_t bytes_of_line(std::span<const StretchAt> stretches) {
  double all = 0;
  for (const StretchAt& each : stretches) all += static_cast<double>(each.addresses.bytes());
  std::int64_t bytes = kLeastOfLine;
  while (static_cast<double>(bytes) * kLines < all && bytes < std::int64_t{1} << 60) bytes *= 2;
  return bytes;
}

std::size_t lines_of(const StretchAt& stretch, std::int64_t of_line) {
  const auto bytes = static_cast<double>(std::max<std::int64_t>(1, stretch.addresses.bytes()));
  return static_cast<std::size_t>(std::min(std::ceil(bytes / static_cast<double>(of_line)), 1e6));
}

/// The number of stretches that fit, and the number of their lines.
std::pair<std::size_t, std::size_t> room_for(std::span<const StretchAt> stretches) {
  const std::int64_t of_line = bytes_of_line(stretches);
  std::size_t lines = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const std::size_t more = lines_of(stretches[i], of_line);
    if (lines + more > kMostAddressLines) return {i, lines};
    lines += more;
  }
  return {stretches.size(), lines};
}

/// The reserved bytes, if they are known.
std::int64_t room_of(const StretchAt& stretch) {
  if (!stretch.segments) return stretch.addresses.bytes();
  std::int64_t bytes = 0;
  for (const Occupied& segment : *stretch.segments) bytes += segment.addresses.bytes();
  return bytes;
}

class MapPainter {
 public:
  MapPainter(const Recording& recording, std::span<const Address> addresses, const Appearance& appearance,
             Canvas& canvas)
      : recording_(recording), addresses_(addresses), appearance_(appearance), canvas_(canvas) {}

  AddressMapFacts draw(std::span<const StretchAt> stretches) {
    const auto [shown, lines] = room_for(stretches);
    const int gutter = std::min(appearance_.text_height * 20, appearance_.width / 2);
    facts_.height = address_map_height(stretches, appearance_.text_height);
    facts_.chart = {gutter, 0, std::max(1, appearance_.width - gutter - 8), facts_.height};
    facts_.bytes_of_line = bytes_of_line(stretches);
    for (std::size_t i = 0; i < shown; ++i) stretch(stretches[i], i);
    if (shown < stretches.size()) {
      name_ = std::to_string(stretches.size() - shown) + " more address ranges are in the table";
      draw_label(canvas_, appearance_, facts_.texts, 8, y_ + 1, appearance_.width - 16, name_, appearance_.theme->faint,
                 true);
    }
    return std::move(facts_);
  }

 private:
  /// Columns per byte.
  [[nodiscard]] double scale() const {
    return static_cast<double>(facts_.chart.width) / static_cast<double>(facts_.bytes_of_line);
  }

  void stretch(const StretchAt& of, std::size_t index) {
    const Theme& theme = *appearance_.theme;
    name_ = address_text(of.addresses.from) + " · ";
    name_.append(rounded_bytes(of.used)).append(" of ").append(rounded_bytes(room_of(of)));
    draw_label(canvas_, appearance_, facts_.texts, 8, y_ + 1, facts_.chart.x - 16, name_,
               of.live.empty() ? theme.faint : theme.text, true);
    auto block = of.live.begin();
    const std::size_t lines = lines_of(of, facts_.bytes_of_line);
    for (std::size_t i = 0; i < lines; ++i) {
      AddressStretch part;
      part.from = of.addresses.from + static_cast<Address>(i) * static_cast<Address>(facts_.bytes_of_line);
      part.to = std::min(of.addresses.to - part.from, static_cast<Address>(facts_.bytes_of_line)) + part.from;
      line(of, index, part, block);
    }
  }

  /// @param block  the first block that may reach into the line; on return, the one for the next line
  void line(const StretchAt& of, std::size_t index, const AddressStretch& part,
            std::vector<LifetimeId>::const_iterator& block) {
    const int height = line_height(appearance_.text_height) - 2;
    const auto column = [&](Address address) { return static_cast<double>(address - part.from) * scale(); };
    const int width = std::clamp(static_cast<int>(std::ceil(column(part.to))), 1, facts_.chart.width);
    facts_.lines.push_back({{facts_.chart.x, y_, width, height}, index, part});
    colors_.assign(static_cast<std::size_t>(width),
                   of.segments ? appearance_.theme->background : appearance_.theme->sums_only);
    const std::size_t first_frame = facts_.segments.size();
    if (of.segments) segments(*of.segments, part, width);
    const std::size_t first_bar = facts_.bars.size();
    for (auto at = block; at != of.live.end() && addresses_[*at] < part.to; ++at) {
      const Lifetime& lifetime = recording_.lifetimes()[*at];
      const Address begin = std::max(addresses_[*at], part.from);
      const Address last = address_end(addresses_[*at], lifetime.bytes);
      const bool ends_here = last <= part.to;
      const Address end = std::min(last, part.to);
      if (ends_here && at == block) ++block;
      if (end <= begin) continue;
      const int x0 = std::clamp(static_cast<int>(std::floor(column(begin))), 0, width - 1);
      const int x1 = std::clamp(static_cast<int>(std::ceil(column(end))), x0 + 1, width);
      const Color color = lifetime.finding ? appearance_.theme->finding : appearance_.theme->groups[lifetime.group];
      for (int x = x0; x < x1; ++x) {
        Color& at_x = colors_[static_cast<std::size_t>(x)];
        if (at_x != appearance_.theme->finding) at_x = color;
      }
      // A line between neighbours, if there is space for it.
      if (x1 - x0 > 3 && ends_here) colors_[static_cast<std::size_t>(x1 - 1)] = appearance_.theme->background;
      facts_.bars.push_back({*at, {facts_.chart.x + x0, y_, x1 - x0, height}});
    }
    canvas_.row(facts_.chart.x, y_, height, colors_);
    for (std::size_t i = first_frame; i < facts_.segments.size(); ++i) frame(facts_.segments[i], edges_[i]);
    for (std::size_t i = first_bar; i < facts_.bars.size(); ++i) {
      const BarOf& bar = facts_.bars[i];
      if (appearance_.selected != bar.lifetime && appearance_.hovered != bar.lifetime) continue;
      const Box& box = bar.box;
      canvas_.fill({box.x, box.y, box.width, 2}, appearance_.theme->selected);
      canvas_.fill({box.x, box.y + box.height - 2, box.width, 2}, appearance_.theme->selected);
      canvas_.fill({box.x, box.y, 2, box.height}, appearance_.theme->selected);
      canvas_.fill({box.x + box.width - 2, box.y, 2, box.height}, appearance_.theme->selected);
    }
    y_ += line_height(appearance_.text_height);
  }

  /// Draws the reserved parts of the line.
  void segments(std::span<const Occupied> all, const AddressStretch& part, int width) {
    for (const Occupied& segment : all) {
      const AddressStretch& of = segment.addresses;
      if (of.to <= part.from || of.from >= part.to) continue;
      const auto column = [&](Address address) { return static_cast<double>(address - part.from) * scale(); };
      const int x0 = std::clamp(static_cast<int>(std::floor(column(std::max(of.from, part.from)))), 0, width - 1);
      const int x1 = std::clamp(static_cast<int>(std::ceil(column(std::min(of.to, part.to)))), x0 + 1, width);
      std::fill(colors_.begin() + x0, colors_.begin() + x1, appearance_.theme->sums_only);
      facts_.segments.push_back({facts_.chart.x + x0, y_, x1 - x0, line_height(appearance_.text_height) - 2});
      edges_.push_back({of.from >= part.from, of.to <= part.to});
    }
  }

  /// Whether a segment begins or ends in a line.
  struct Edges {
    bool begins = false, ends = false;
  };

  void frame(const Box& box, const Edges& edges) {
    const Color color = appearance_.theme->text;
    canvas_.fill({box.x, box.y, box.width, 1}, color);
    canvas_.fill({box.x, box.y + box.height - 1, box.width, 1}, color);
    if (edges.begins) canvas_.fill({box.x, box.y, 1, box.height}, color);
    if (edges.ends) canvas_.fill({box.x + box.width - 1, box.y, 1, box.height}, color);
  }

  const Recording& recording_;
  std::span<const Address> addresses_;
  const Appearance& appearance_;
  Canvas& canvas_;
  AddressMapFacts facts_;
  int y_ = 2;
  std::vector<Edges> edges_;  ///< by index in facts_.segments
  std::vector<Color> colors_;
  std::string name_;
};

}  // namespace

int address_map_height(std::span<const StretchAt> stretches, int text_height) {
  const auto [shown, lines] = room_for(stretches);
  return 4 + static_cast<int>(lines + (shown < stretches.size() ? 1 : 0)) * line_height(text_height);
}

AddressMapFacts draw_address_map(const Recording& recording, std::span<const Address> addresses,
                                 std::span<const StretchAt> stretches, const Appearance& appearance, Canvas& canvas) {
  return MapPainter(recording, addresses, appearance, canvas).draw(stretches);
}

std::optional<LifetimeId> hit(const AddressMapFacts& facts, int x, int y) {
  // Of several blocks in one column, the one that covers most of the column.
  std::optional<LifetimeId> found;
  int widest = 0;
  for (const BarOf& bar : facts.bars) {
    if (!bar.box.has(x, y) || bar.box.width <= widest) continue;
    found = bar.lifetime;
    widest = bar.box.width;
  }
  return found;
}

}  // namespace dcmt::scene
