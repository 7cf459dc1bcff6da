#include "render/scene/raster.h"

#include <algorithm>

namespace dcmt::scene {
namespace {

/// Stripes are thin, so that most pixels below keep their color.
bool in_stripe(int x, int y) { return (x + y) % 5 == 0; }

}  // namespace

void Raster::begin(int width, int height, Color background) {
  width_ = width;
  height_ = height;
  pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), 0xff000000U | background);
  text_count_ = 0;
}

Box Raster::clipped(const Box& box) const {
  const int x = std::max(box.x, 0);
  const int y = std::max(box.y, 0);
  return {x, y, std::min(box.x + box.width, width_) - x, std::min(box.y + box.height, height_) - y};
}

void Raster::fill(const Box& box, Color color) {
  const Box in = clipped(box);
  if (in.width <= 0) return;
  for (int y = in.y; y < in.y + in.height; ++y) {
    const auto begin = pixels_.begin() + static_cast<std::ptrdiff_t>(y) * width_ + in.x;
    std::fill(begin, begin + in.width, 0xff000000U | color);
  }
}

void Raster::hatch(const Box& box, Color color) {
  const Box in = clipped(box);
  for (int y = in.y; y < in.y + in.height; ++y) {
    for (int x = in.x; x < in.x + in.width; ++x) {
      if (in_stripe(x, y)) put(x, y, color);
    }
  }
}

void Raster::row(int x, int y, int height, std::span<const Color> columns) {
  const Box in = clipped({x, y, static_cast<int>(columns.size()), height});
  if (in.width <= 0) return;
  const Color* const colors = columns.data() + (in.x - x);
  for (int line = in.y; line < in.y + in.height; ++line) {
    std::uint32_t* const pixels = pixels_.data() + static_cast<std::ptrdiff_t>(line) * width_ + in.x;
    // Without a branch, so that the compiler can vectorize it.
    for (int at = 0; at < in.width; ++at) pixels[at] = colors[at] == kNone ? pixels[at] : 0xff000000U | colors[at];
  }
}

void Raster::area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) {
  for (std::size_t i = 0; i < tops.size(); ++i) {
    const int at = x + static_cast<int>(i);
    if (at < 0 || at >= width_) continue;
    const int end = std::min(bottoms[i], height_);
    for (int y = std::max(tops[i], 0); y < end; ++y) {
      if (!hatched || in_stripe(at, y)) put(at, y, color);
    }
  }
}

void Raster::line(int x, std::span<const int> ys, Color color) {
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const int at = x + static_cast<int>(i);
    if (at < 0 || at >= width_) continue;
    const int before = i > 0 ? ys[i - 1] : ys[i];
    const bool level = before == ys[i];
    if (level && i % 8 >= 5) continue;  // dashes; steep parts stay solid
    for (int y = std::max(std::min(before, ys[i]), 0); y <= std::min(std::max(before, ys[i]) + 1, height_ - 1); ++y) {
      put(at, y, color);
    }
  }
}

void Raster::text(const Box& box, std::string_view text, Color color) {
  if (text_count_ == texts_.size()) texts_.emplace_back();
  Text& next = texts_[text_count_++];
  next.box = box;
  next.color = color;
  next.text.assign(text);
}

Color mixed(Color a, Color b, double share) {
  Color result = 0;
  for (const int shift : {16, 8, 0}) {
    const double from = (a >> shift) & 0xffU;
    const double to = (b >> shift) & 0xffU;
    result |= static_cast<Color>(from + (to - from) * share + 0.5) << shift;
  }
  return result;
}

}  // namespace dcmt::scene
