// The target of a drawing: pixels for a window, or SVG for a page. All numbers are pixels from the top left.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dcmt::scene {

/// 0xRRGGBB.
using Color = std::uint32_t;

struct Box {
  int x = 0, y = 0, width = 0, height = 0;

  [[nodiscard]] bool has(int at_x, int at_y) const {
    return at_x >= x && at_x < x + width && at_y >= y && at_y < y + height;
  }
  [[nodiscard]] bool meets(const Box& other) const {
    return x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height;
  }
  friend bool operator==(const Box&, const Box&) = default;
};

class Canvas {
 public:
  virtual ~Canvas() = default;

  virtual void fill(const Box& box, Color color) = 0;
  /// Diagonal stripes, for what is kept for nothing.
  virtual void hatch(const Box& box, Color color) = 0;
  /// A row of columns, `height` pixels high. Columns with kNone are not changed.
  virtual void row(int x, int y, int height, std::span<const Color> columns) = 0;
  /// Fills each column between two heights. `hatched`: with stripes.
  virtual void area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) = 0;
  /// A dashed line through the heights of columns.
  virtual void line(int x, std::span<const int> ys, Color color) = 0;
  /// Plain text in the middle of the box. It must fit.
  virtual void text(const Box& box, std::string_view text, Color color) = 0;

  static constexpr Color kNone = 0xff000000;
};

}  // namespace dcmt::scene
