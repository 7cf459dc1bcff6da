// A frame as SVG, for a page. Texts are escaped: whatever a trace says, it is shown as text.
#pragma once

#include <map>
#include <string>

#include "gui/scene/canvas.h"

namespace dcmt::gui::scene {

/// `text` such that HTML and XML show it as it is, between tags and in attributes.
[[nodiscard]] std::string escaped(std::string_view text);

class Svg : public Canvas {
 public:
  /// @param name  of this picture on its page, letters only
  Svg(int width, int height, int text_size, std::string name);

  void fill(const Box& box, Color color) override;
  void hatch(const Box& box, Color color) override;
  void row(int x, int y, int height, std::span<const Color> columns) override;
  void area(int x, std::span<const int> tops, std::span<const int> bottoms, Color color, bool hatched) override;
  void line(int x, std::span<const int> ys, Color color) override;
  void text(const Box& box, std::string_view text, Color color) override;
  /// The same as fill(), with a text that the pointer shows.
  void fill_titled(const Box& box, Color color, std::string_view title);

  /// The element. `label` is for who does not see it.
  [[nodiscard]] std::string element(std::string_view label) const;
  /// Letters of this size, as wide as those of wide fonts: what fits here fits with most.
  [[nodiscard]] static int text_width(std::string_view text, int text_size);

 private:
  void rectangle(const Box& box, const std::string& fill, std::string_view title = {});
  /// The name of the pattern of stripes in a color.
  const std::string& stripes(Color color);

  int width_, height_, text_size_;
  std::string name_, body_;
  std::map<Color, std::string> stripes_;
};

}  // namespace dcmt::gui::scene
