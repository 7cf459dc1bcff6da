// A frame as SVG for a page. Texts are escaped, so that all contents of a trace are shown as text.
#pragma once

#include <map>
#include <string>

#include "render/scene/canvas.h"

namespace dcmt::scene {

class Svg : public Canvas {
 public:
  /// @param name  unique on the page; only letters
  Svg(int width, int height, int text_size, std::string name);

  void fill(const Box& box, Color color) override;
  void hatch(const Box& box, Color color) override;
  void row(int x, int y, int height, std::span<const Color> columns) override;
  void area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) override;
  void line(int x, std::span<const int> ys, Color color) override;
  void text(const Box& box, std::string_view text, Color color) override;
  /// Like fill(), with a text that the pointer shows.
  void fill_titled(const Box& box, Color color, std::string_view title);

  /// The SVG element. `label` is for users who cannot see it.
  [[nodiscard]] std::string element(std::string_view label) const;
  /// Width with the characters of a wide font: text that fits here fits with most fonts.
  [[nodiscard]] static int text_width(std::string_view text, int text_size);

 private:
  void rectangle(const Box& box, const std::string& fill, std::string_view title = {});
  /// The name of the stripe pattern of a color.
  const std::string& stripes(Color color);

  int width_, height_, text_size_;
  std::string name_, body_;
  std::map<Color, std::string> stripes_;
};

}  // namespace dcmt::scene
