// Text in a limited space of a picture.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "render/scene/appearance.h"
#include "render/scene/canvas.h"

namespace dcmt::scene {

struct TextOf {
  Box box;
  std::string text;
};

struct FittedText {
  std::string_view text;  ///< empty: there is not enough space
  int width = 0;
};

/// The whole text or, with `cut`, as much as fits, followed by "…". `scratch` stores the cut text.
[[nodiscard]] FittedText fit_text(const Appearance& appearance, std::string_view text, int room, bool cut,
                                  std::string& scratch);

/// Draws what fits, and records it in `texts`. Returns the end of the text.
int draw_label(Canvas& canvas, const Appearance& appearance, std::vector<TextOf>& texts, int x, int y, int room,
               std::string_view text, Color color, bool cut);

}  // namespace dcmt::scene
