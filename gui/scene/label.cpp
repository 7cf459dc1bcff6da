#include "gui/scene/label.h"

namespace dcmt::gui::scene {

FittedText fit_text(const Look& look, std::string_view text, int room, bool cut, std::string& scratch) {
  if (room <= 0 || text.empty()) return {};
  int needed = look.text_width(text);
  if (needed <= room) return {text, needed};
  if (!cut) return {};
  constexpr std::string_view kMore = "…";
  std::size_t most = text.size();
  while (most > 0) {
    --most;
    if ((static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) continue;  // within a character
    scratch.assign(text.substr(0, most)).append(kMore);
    needed = look.text_width(scratch);
    if (needed <= room) break;
  }
  return most < 3 ? FittedText() : FittedText{scratch, needed};
}

int draw_label(Canvas& canvas, const Look& look, std::vector<TextOf>& texts, int x, int y, int room,
               std::string_view text, Color color, bool cut) {
  std::string scratch;
  const FittedText fitted = fit_text(look, text, room, cut, scratch);
  if (fitted.text.empty()) return x;
  const Box box{x, y, fitted.width, look.text_height};
  texts.push_back({box, std::string(fitted.text)});
  canvas.text(box, fitted.text, color);
  return x + fitted.width;
}

}  // namespace dcmt::gui::scene
