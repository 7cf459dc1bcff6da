// A frame in pixels. Its texts are stored separately, because drawing them needs fonts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "render/scene/canvas.h"

namespace dcmt::scene {

class Raster : public Canvas {
 public:
  struct Text {
    Box box;
    Color color = 0;
    std::string text;
  };

  /// Starts a new frame. Memory is reused.
  void begin(int width, int height, Color background);

  void fill(const Box& box, Color color) override;
  void hatch(const Box& box, Color color) override;
  void row(int x, int y, int height, std::span<const Color> columns) override;
  void area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) override;
  void line(int x, std::span<const int> ys, Color color) override;
  void text(const Box& box, std::string_view text, Color color) override;

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  /// 0xffRRGGBB, row by row.
  [[nodiscard]] const std::vector<std::uint32_t>& pixels() const { return pixels_; }
  [[nodiscard]] std::span<const Text> texts() const { return {texts_.data(), text_count_}; }

 private:
  [[nodiscard]] Box clipped(const Box& box) const;
  void put(int x, int y, Color color) {
    pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)] =
        0xff000000U | color;
  }

  int width_ = 0, height_ = 0;
  std::vector<std::uint32_t> pixels_;
  std::vector<Text> texts_;
  std::size_t text_count_ = 0;
};

/// A mixture of two colors with `share` (0 to 1) of the second.
[[nodiscard]] Color mixed(Color a, Color b, double share);

}  // namespace dcmt::scene
