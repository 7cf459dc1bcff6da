#include "render/scene/svg.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "trace/base/xml_text.h"

namespace dcmt::scene {
namespace {

std::string color_text(Color color) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "#%06x", color & 0xffffffU);
  return text.data();
}

std::string number(int value) { return std::to_string(value); }

}  // namespace

Svg::Svg(int width, int height, int text_size, std::string name)
    : width_(width), height_(height), text_size_(text_size), name_(std::move(name)) {}

const std::string& Svg::stripes(Color color) {
  std::string& id = stripes_[color];
  if (id.empty()) id = name_ + color_text(color).substr(1);
  return id;
}

void Svg::rectangle(const Box& box, const std::string& fill, std::string_view title) {
  if (box.width <= 0 || box.height <= 0) return;
  body_ += "<rect x=\"" + number(box.x) + "\" y=\"" + number(box.y) + "\" width=\"" + number(box.width) +
           "\" height=\"" + number(box.height) + "\" fill=\"" + fill + "\"";
  body_ += title.empty() ? "/>\n" : "><title>" + xml_escaped(title) + "</title></rect>\n";
}

void Svg::fill(const Box& box, Color color) { rectangle(box, color_text(color)); }
void Svg::fill_titled(const Box& box, Color color, std::string_view title) { rectangle(box, color_text(color), title); }
void Svg::hatch(const Box& box, Color color) { rectangle(box, "url(#" + stripes(color) + ")"); }

void Svg::row(int x, int y, int height, std::span<const Color> columns) {
  for (std::size_t from = 0; from < columns.size();) {
    std::size_t to = from + 1;
    while (to < columns.size() && columns[to] == columns[from]) ++to;
    if (columns[from] != kNone) {
      fill({x + static_cast<int>(from), y, static_cast<int>(to - from), height}, columns[from]);
    }
    from = to;
  }
}

void Svg::area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) {
  std::string path;
  // Each contiguous range of columns with a part of the area is a separate shape.
  for (std::size_t from = 0; from < tops.size();) {
    if (tops[from] >= bottoms[from]) {
      ++from;
      continue;
    }
    std::size_t to = from;
    while (to < tops.size() && tops[to] < bottoms[to]) ++to;
    path += "M" + number(x + static_cast<int>(from)) + " " + number(tops[from]);
    for (std::size_t i = from; i < to; ++i) {
      if (i > from && tops[i] != tops[i - 1]) path += "V" + number(tops[i]);
      if (i + 1 == to || tops[i + 1] != tops[i]) path += "H" + number(x + static_cast<int>(i) + 1);
    }
    for (std::size_t i = to; i-- > from;) {
      if (i + 1 == to || bottoms[i] != bottoms[i + 1]) path += "V" + number(bottoms[i]);
      if (i == from || bottoms[i - 1] != bottoms[i]) path += "H" + number(x + static_cast<int>(i));
    }
    path += "Z";
    from = to;
  }
  if (path.empty()) return;
  body_ +=
      "<path d=\"" + path + "\" fill=\"" + (hatched ? "url(#" + stripes(color) + ")" : color_text(color)) + "\"/>\n";
}

void Svg::line(int x, std::span<const int> ys, Color color) {
  if (ys.empty()) return;
  std::string path = "M" + number(x) + " " + number(ys[0]);
  for (std::size_t i = 0; i < ys.size(); ++i) {
    if (i > 0 && ys[i] != ys[i - 1]) path += "V" + number(ys[i]);
    if (i + 1 == ys.size() || ys[i + 1] != ys[i]) path += "H" + number(x + static_cast<int>(i) + 1);
  }
  body_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + color_text(color) +
           "\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/>\n";
}

void Svg::text(const Box& box, std::string_view text, Color color) {
  body_ += "<text x=\"" + number(box.x) + "\" y=\"" + number(box.y + box.height * 3 / 4) + "\" fill=\"" +
           color_text(color) + "\">" + xml_escaped(text) + "</text>\n";
}

std::string Svg::element(std::string_view label) const {
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width_) + " " +
                    number(height_) + "\" role=\"img\" aria-label=\"" + xml_escaped(label) + "\" font-size=\"" +
                    number(text_size_) + "\">\n<defs>\n";
  for (const auto& [color, id] : stripes_) {
    svg += "<pattern id=\"" + id +
           "\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
           "<path d=\"M-1 1L1 -1M0 5L5 0M4 6L6 4\" stroke=\"" +
           color_text(color) + "\"/></pattern>\n";
  }
  return svg + "</defs>\n" + body_ + "</svg>\n";
}

int Svg::text_width(std::string_view text, int text_size) {
  const auto letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; });
  return static_cast<int>(letters) * text_size * 62 / 100 + 2;
}

}  // namespace dcmt::scene
