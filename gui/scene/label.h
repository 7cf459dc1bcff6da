// Text in a picture that has only so much room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gui/scene/canvas.h"
#include "gui/scene/frame.h"

namespace dcmt::gui::scene {

struct FittedText {
  std::string_view text;  ///< empty: there is no room
  int width = 0;
};

/// The whole text or, with `cut`, as much as there is room for, and "…". `scratch` keeps what is cut.
[[nodiscard]] FittedText fit_text(const Look& look, std::string_view text, int room, bool cut, std::string& scratch);

/// Draws what fits, and notes it. Returns where it ends.
int draw_label(Canvas& canvas, const Look& look, std::vector<TextOf>& texts, int x, int y, int room,
               std::string_view text, Color color, bool cut);

}  // namespace dcmt::gui::scene
